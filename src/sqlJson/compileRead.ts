import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  print,
  visit,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { withAuditIds } from "../audit/auditIds.ts";
import { withDefaults } from "../audit/auditedReads.ts";
import { guardOf } from "../auth/guards.ts";
import type { BindNth } from "../query/bind.ts";
import { UnsupportedSelection, fieldOf, fieldsOf, typeOf, unlessUnsupported } from "./selection.ts";
import { type Members, sqlJsonFieldOf } from "./sqlJsonField.ts";
import { fragmentsOf } from "../graphql/collectFields.ts";
import { type HideablePlace, hideablePlaces } from "../graphql/hiddenFields.ts";
import {
  guardSql,
  scopedKeyConditions,
  withRights,
  type Compiled,
  type RequestValues,
  compiled,
  requestParameter,
} from "./statement.ts";
import { chunkRows, type Text, objectJson, nullIfIncomplete, textSql } from "./jsonText.ts";
import { listJson, type Row, tableRow } from "./rows.ts";
import { recordedAnswer } from "./recordedAnswer.ts";
import { pageJson } from "./pageJson.ts";
import { type FieldPart, cachedFieldPart, type Compilation, nestedFields } from "./fieldPart.ts";
import { rowJson } from "./rowJson.ts";
import { coerceVariables } from "../graphql/coerceVariables.ts";

/** A query that one SQL statement can answer. */
export interface Read {
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
  /** Resolves the variables; null where the request is wrong or Grafast has to answer. */
  prepare: (
    sent: Record<string, unknown>,
    /** The coerced variables where they are known; null where coercion failed. */
    coerced?: Record<string, unknown> | null,
  ) => PreparedRead | null;
}

/** A query with resolved variables. */
export interface PreparedRead {
  /** Equal for all requests whose statements differ in parameters only. */
  key: string;
  /** The parameters of this request. */
  given: RequestValues;
  /** Compiles the statement for this key; null where Grafast has to answer. */
  compile: () => CompiledRead | null;
}

/** A statement that returns the JSON of `data` in one or several rows; no row if a guard refuses the caller. */
export interface CompiledRead extends Compiled {
  /** Whether the statement writes audit records. */
  records: boolean;
}

/** The number of reads that this process has prepared. */
let prepared = 0;

/**
 * Prepares a query for one statement that checks the guards, records reads of audited types and returns the JSON of
 * `data`. Returns null for what Grafast has to answer, such as directives and fields of plugins. Tests compare the results
 * with Grafast's.
 */
export function prepareRead(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): Read | null {
  // Grafast adds ids to rows of audited types that were selected without, and removes them.
  if (withAuditIds(schema, document, operationName) !== document) return null;
  const operation = getOperationAST(document, operationName);
  const root = schema.getQueryType();
  if (operation?.operation !== "query" || !root || operation.directives?.length) return null;
  const fragments = { fragments: fragmentsOf(document) };
  const nodes = unlessUnsupported(() => fieldsOf(fragments, operation.selectionSet));
  const fields = unlessUnsupported(() => [
    ...(nodes ?? []).map(([key, node]) => [key, [fieldOf(root, node), node]] as const),
    ...nestedFields(fragments, root, operation.selectionSet),
  ]);
  if (!nodes || !fields) return null;
  const places = hideablePlaces(schema, document, operationName);
  const byKey = new Map(nodes);
  const owner = String(++prepared);
  const selection = `${operationName ?? ""}\n${selectionOf(document, new Set(byKey.values()))}`;

  const compile = (parts: ReadonlyMap<string, FieldPart>) =>
    unlessUnsupported((): CompiledRead => {
      const compilation: Compilation = {
        ...fragments,
        parts: new Map(
          [...parts].map(([key, { kind }]) => {
            const bind: BindNth = (n) =>
              requestParameter(({ values }) => values.get(key)?.[n] ?? null);
            return [key, { kind, bind }];
          }),
        ),
      };
      const guards = nodes.map(([, node]) => guardSql(guardOf(fieldOf(root, node))));
      const guard = sql.join([...guards, ...scopedKeyConditions(places)], " and ");
      const texts = nodes.map(
        ([key, node]) => [key, rootText(compilation, root, key, node)] as const,
      );
      const answer = sql`select ${textSql(objectJson(texts))} as data where ${guard}`;
      const { text, records } = recordedAnswer(answer, schema, document, operation);
      const mayBeLong = nodes.some(([key]) => {
        const kind = parts.get(key)?.kind.kind;
        return kind === "list" || kind === "page";
      });
      const usesCustomPlan = Array.from(parts.values()).some((part) => part.usesCustomPlan);
      const whole = mayBeLong ? chunkRows(text) : text;
      return {
        ...compiled(withRights(whole, places), usesCustomPlan),
        records,
      };
    });

  const prepare: Read["prepare"] = (sent, given) =>
    unlessUnsupported((): PreparedRead => {
      const coerced = given === undefined ? coerceVariables(schema, operation, sent) : given;
      if (!coerced) throw new UnsupportedSelection("variables");
      const parts = new Map(
        fields.map(([key, [field, node]]) => {
          const args = getArgumentValues(field, node, coerced);
          return [key, cachedFieldPart(`${owner} ${key}`, fragments, field, node, args)];
        }),
      );
      return {
        key: [selection, ...Array.from(parts.values(), ({ shape }) => shape)].join("\n"),
        given: {
          variables: withDefaults(operation, sent),
          nodes: byKey,
          values: new Map(Array.from(parts, ([key, { values }]) => [key, values])),
        },
        compile: () => compile(parts),
      };
    });
  return { places, prepare };
}

/** The text of the selection without the arguments of root fields. */
function selectionOf(document: DocumentNode, roots: ReadonlySet<FieldNode>): string {
  return print(
    visit(document, {
      VariableDefinition: () => null,
      Field: (node) => (roots.has(node) ? { ...node, arguments: [] } : undefined),
    }),
  );
}

function rootText(
  compilation: Compilation,
  root: GraphQLObjectType,
  key: string,
  node: FieldNode,
): Text {
  const type = typeOf(fieldOf(root, node));
  const name = node.name.value;
  const { kind: asked, bind } = compilation.parts.get(key) ?? {};
  if (!asked || !bind) throw new UnsupportedSelection(name);
  switch (asked.kind) {
    case "one": {
      const { rows, wanted } = asked;
      const row = tableRow(name);
      const object = rowJson(compilation, type, node, row);
      return nullIfIncomplete([
        sql`(select ${textSql(object)} from ${rows.from} as ${row.alias} where ${wanted(row, bind)})`,
      ]);
    }
    case "list": {
      const { rows, part } = asked;
      const object = (row: Row) => rowJson(compilation, type, node, row);
      return listJson(rows.from, name, object, part(bind), true);
    }
    case "page":
      return pageJson(compilation, {
        type,
        node,
        page: asked,
        bind,
        objectOf: (...of) => rowJson(compilation, ...of),
        ...rootCondition(fieldOf(root, node)),
      });
    case "object":
      return membersText(compilation, type, node, asked.members(bind));
  }
}

/** The condition on the rows of a root connection, if it has one. */
function rootCondition({ extensions }: GraphQLField<unknown, unknown>): {
  within?: (row: Row) => SQL;
} {
  const sqlJson = sqlJsonFieldOf(extensions);
  return sqlJson?.kind === "rootPage" && sqlJson.within ? { within: sqlJson.within } : {};
}

function membersText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  members: Members,
): Text {
  const parts = fieldsOf(compilation, node.selectionSet).map(([key, child]) => {
    const name = child.name.value;
    if (name === "__typename") return [key, [`"${type.name}"`]] as const;
    const member = members[name];
    if (!member || child.arguments?.length) throw new UnsupportedSelection(name);
    if ("text" in member) return [key, [member.text]] as const;
    const of = typeOf(fieldOf(type, child));
    const text = listJson(member.from, name, (row) => rowJson(compilation, of, child, row), {
      order: [],
    });
    return [key, text] as const;
  });
  return objectJson(parts);
}
