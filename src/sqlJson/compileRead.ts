import {
  type DocumentNode,
  type FieldNode,
  type GraphQLSchema,
  OperationTypeNode,
  print,
  visit,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import { withDefaults } from "../audit/auditedReads.ts";
import { guardOf } from "../auth/guards.ts";
import { type HideablePlace, hideablePlaces } from "../graphql/hiddenFields.ts";
import { compilationOf, fieldParts } from "./fieldPart.ts";
import { chunkRows, objectJson, textSql } from "./jsonText.ts";
import { recordedAnswer } from "./recordedAnswer.ts";
import { type FieldPart, nestedFields } from "./rowJson.ts";
import { fieldOf, operationOf, unlessUnsupported } from "./selection.ts";
import { sqlJsonFieldOf } from "./sqlJsonField.ts";
import {
  type Compiled,
  type RequestValues,
  compiled,
  guardSql,
  requestParameter,
  scopedKeyConditions,
  withRights,
} from "./statement.ts";

/** A query that one SQL statement can answer. */
export interface Read {
  /** The fields that permissions may hide. */
  places: readonly HideablePlace[];
  /** Resolves the variables, as sent and as coerced; null where the request is wrong or Grafast has to answer. */
  prepare: (sent: Record<string, unknown>, coerced: Record<string, unknown>) => PreparedRead | null;
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
  return unlessUnsupported(() => {
    const type = OperationTypeNode.QUERY;
    const { operation, root, fragments, nodes } = operationOf(
      schema,
      document,
      operationName,
      type,
    );
    const rootFields = Array.from(
      nodes,
      ([key, node]) => [key, [fieldOf(root, node), node]] as const,
    );
    const fields = [...rootFields, ...nestedFields(fragments, root, operation)];
    const places = hideablePlaces(schema, document, operationName);
    const selection = `${operationName ?? ""}\n${selectionOf(document, new Set(nodes.values()))}`;

    const compile = (parts: ReadonlyMap<string, FieldPart>): CompiledRead => {
      const compilation = compilationOf(fragments, parts, (key, n) =>
        requestParameter(({ values }) => values.get(key)?.[n] ?? null),
      );
      const guards = rootFields.map(([, [field]]) => guardSql(guardOf(field)));
      const guard = sql.join([...guards, ...scopedKeyConditions(places)], " and ");
      const data = objectJson(
        fragments,
        root,
        operation,
        (_field, node, key) => compilation.parts.get(key)?.(node) ?? [],
      );
      const answer = sql`select ${textSql(data)} as data where ${guard}`;
      const { text, records } = recordedAnswer(answer, schema, document, operation);
      const isLong = rootFields.some(([, [{ extensions }]]) =>
        ["list", "page"].includes(sqlJsonFieldOf(extensions)?.kind ?? ""),
      );
      const usesCustomPlan = Array.from(parts.values()).some((part) => part.usesCustomPlan);
      const whole = isLong ? chunkRows(text) : text;
      return { ...compiled(withRights(whole, places), usesCustomPlan), records };
    };

    const prepare: Read["prepare"] = (sent, coerced) =>
      unlessUnsupported(() => {
        const parts = fieldParts(fields, coerced);
        return {
          key: [selection, ...Array.from(parts.values(), ({ shape }) => shape)].join("\n"),
          given: {
            variables: withDefaults(operation, sent),
            nodes,
            values: new Map(Array.from(parts, ([key, { values }]) => [key, values])),
          },
          compile: () => unlessUnsupported(() => compile(parts)),
        };
      });
    return { places, prepare };
  });
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
