import {
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
  getArgumentValues,
  isNonNullType,
} from "graphql";
import type { PgResourceParameter } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { withDefaults } from "../audit/auditedReads.ts";
import { guardOf } from "../auth/guards.ts";
import type { Statements } from "../auth/queryAsPrincipal.ts";
import { type HideablePlace, hideablePlaces } from "../graphql/hiddenFields.ts";
import { bindValue } from "../query/bind.ts";
import { type FunctionResource, inputParameter } from "../schema/functionCall.ts";
import { columnValues } from "../schema/inputColumns.ts";
import { compilationOf, fieldParts } from "./fieldPart.ts";
import { objectJson, textSql } from "./jsonText.ts";
import { recordedAnswer } from "./recordedAnswer.ts";
import { nestedFields, rowJson } from "./rowJson.ts";
import type { Row } from "./rows.ts";
import {
  UnsupportedSelection,
  assertOnly,
  fieldOf,
  operationOf,
  typeOf,
  unlessUnsupported,
} from "./selection.ts";
import { type SqlJsonField, sqlJsonFieldOf } from "./sqlJsonField.ts";
import { compiled, guardSql, withRights } from "./statement.ts";
import { databaseName } from "../schema/databaseName.ts";

/** A mutation that the SQL-JSON path can run. */
export interface Call {
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
  operation: OperationDefinitionNode;
  /**
   * The statements for these variables, as sent and as coerced; null when the request is invalid. Grafast then reports the
   * error.
   */
  statements: (
    given: Record<string, unknown>,
    coerced: Record<string, unknown>,
  ) => Statements | null;
}

/**
 * Compiles a mutation with one root field that is a function returning a row. One statement calls the function if the
 * guard allows it; a second one, which sees the changes, returns the JSON of `data` and records reads, or no row if the
 * guard refused. Both must run in one transaction. Returns null for what Grafast has to run.
 */
export function compileCall(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Call | null {
  return unlessUnsupported(() => {
    const type = OperationTypeNode.MUTATION;
    const { operation, root, fragments, nodes } = operationOf(
      schema,
      document,
      operationName,
      type,
    );
    const [[key, node] = [], ...others] = nodes;
    if (key === undefined || !node || others.length > 0) throw new UnsupportedSelection("fields");
    const field = fieldOf(root, node);
    const sqlJson = sqlJsonFieldOf(field.extensions);
    // If no row were a valid result, it could not be distinguished from a refusal by the guard.
    if (sqlJson?.kind !== "call" || !isNonNullType(field.type))
      throw new UnsupportedSelection(node.name.value);
    const guard = guardSql(guardOf(field));
    const nested = nestedFields(fragments, root, operation);
    // The variables are not known yet.
    if (Array.from(nested.values()).some(([, { arguments: args }]) => args?.length))
      throw new UnsupportedSelection("argument");
    const parts = fieldParts(nested, {});
    const compilation = compilationOf(fragments, parts, (part, n) =>
      bindValue(parts.get(part)?.values[n] ?? null),
    );
    const result = resultRow(sqlJson.type);
    const data = objectJson(fragments, root, operation, () =>
      rowJson(compilation, typeOf(field), node, result),
    );
    const places = hideablePlaces(schema, document, operationName);
    const { text } = recordedAnswer(
      sql`select ${textSql(data)} as data from ${result.alias}`,
      schema,
      document,
      operation,
    );
    const { statementFor } = compiled(withRights(text, places));
    const statements: Call["statements"] = (given, coerced) =>
      unlessUnsupported(() => {
        const args = getArgumentValues(field, node, coerced);
        const values = {
          variables: withDefaults(operation, given),
          nodes,
          values: new Map(),
        };
        const row = sql.identifier(Symbol("row"));
        return {
          // A function that returns no row has no response: the transaction is rolled back.
          prelude: [
            compiled(sql`select set_config('office.result', case when ${row} is null then missing_row() else ${row}::text end, true)
            from ${sqlJson.call(args)} as ${row} where ${guard}`).statementFor(values),
          ],
          answer: statementFor(values),
        };
      });
    return { operation, places, statements };
  });
}

/** The row that the call stored in a transaction-local setting. */
function resultRow(type: SQL): Row {
  const alias = sql.identifier(Symbol("result"));
  const whole = sql`${alias}.whole`;
  return {
    alias: sql`(select current_setting('office.result', true)::${type} as whole
      where current_setting('office.result', true) <> '' offset 0) as ${alias}`,
    column: (name) => sql`(${whole}).${sql.identifier(name)}`,
    whole: () => whole,
    isOfFunction: true,
  };
}

/** How the SQL-JSON path calls a mutation function that returns one row of a table. */
export function sqlJsonCall(
  build: GraphileBuild.Build,
  resource: FunctionResource,
): { extensions?: { sqlJson: SqlJsonField } } {
  const { codec, parameters } = resource;
  if (!resource.isMutation || !resource.isUnique || !codec.attributes || codec.isAnonymous)
    return {};
  const input = inputParameter(resource);
  const valuesOf = input ? columnValues(build, input.codec) : () => ({});
  const valueOf = (parameter: PgResourceParameter, args: Record<string, unknown>) => {
    const { name, codec: of } = parameter;
    if (parameter === input) {
      const given = sql.value(JSON.stringify(valuesOf(args.input)));
      return sql`jsonb_populate_record(null::${of.sqlType}, ${given}::jsonb)`;
    }
    const value =
      name === "given" ? Object.keys(valuesOf(args.input)) : args[argumentOf(parameter)];
    const encoded = value == null ? null : of.toPg(value);
    // The codecs of numbers return numbers, and a prelude takes texts.
    return sql`${sql.value(typeof encoded === "number" ? String(encoded) : encoded)}::${of.sqlType}`;
  };
  const argumentOf = ({ name }: PgResourceParameter) => build.inflection.camelCase(name ?? "");
  const argumentNames = parameters.filter(({ name }) => name !== "given").map(argumentOf);
  const callee = sql.identifier(databaseName(resource));
  const sqlJson: SqlJsonField = {
    kind: "call",
    type: codec.sqlType,
    call(args) {
      // Other plugins add arguments, such as `ifVersion`.
      assertOnly(args, argumentNames);
      const passed = parameters.map(
        (parameter) => sql`${sql.identifier(parameter.name ?? "")} => ${valueOf(parameter, args)}`,
      );
      return sql`${callee}(${sql.join(passed, ", ")})`;
    },
  };
  return { extensions: { sqlJson } };
}
