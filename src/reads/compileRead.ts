import {
  type DocumentNode,
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getOperationAST,
  print,
  visit,
} from "graphql";
import { sql } from "postgraphile/pg-sql2";
import { withAuditIds } from "../plugins/auditIds.ts";
import { withDefaults } from "../plugins/auditedReads.ts";
import { guardOf } from "../auth/guards.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import type { BindNth } from "../query/bind.ts";
import type { Members } from "./directField.ts";
import { guardSql } from "./guardSql.ts";
import { inPieces } from "./inPieces.ts";
import { listText } from "./listText.ts";
import { type Given, lateValue, namedStatement } from "./namedStatement.ts";
import { recordedAnswer } from "./recordedAnswer.ts";
import { pageText } from "./pageText.ts";
import { type RootPart, keptRootPart } from "./rootPart.ts";
import { type Row, tableRow } from "./row.ts";
import { objectText, rowText } from "./rowText.ts";
import {
  type Compilation,
  IndirectError,
  fieldOf,
  fieldsOf,
  fragmentsOf,
  typeOf,
} from "./selection.ts";
import { type Text, orNull, textSql } from "./text.ts";
import { coerceVariables } from "./variables.ts";

/** A query operation that one SQL statement may read. */
export interface Read {
  /** What is asked for with these variables; null where they are refused, or where it has to be left to Grafast. */
  ask: (sent: Record<string, unknown>) => AskedRead | null;
}

/** What a request asks for. */
export interface AskedRead {
  /** The same for all requests whose statements differ in parameters only, whatever their documents' literals and variables are. */
  key: string;
  /** What the request gives to the statement. */
  given: Given;
  /** Makes the statement of all that have this key; null where it has to be left to Grafast. */
  compile: () => CompiledRead | null;
}

/** A statement that gives the text of the answer's `data`, in one row or in pieces; no row to callers whom the guards do not let pass. */
export interface CompiledRead {
  statementFor: (given: Given) => TextStatement;
  /** Whether it writes into the audit log what was read. */
  records: boolean;
}

/** How many reads were prepared by this process. */
let prepared = 0;

/**
 * Prepares a query operation to be read by one statement that checks the guards, records what is read of audited types, and gives
 * the text of the whole answer's `data`, written by PostgreSQL. Null where something of it has to be left to Grafast, as directives
 * and fields of plugins are. What it means is what Grafast makes of it; the tests hold the two against each other.
 */
export function prepareRead(
  schema: GraphQLSchema,
  asked: DocumentNode,
  operationName: string | null | undefined,
): Read | null {
  const document = withAuditIds(schema, asked, operationName);
  const operation = getOperationAST(document, operationName);
  const root = schema.getQueryType();
  if (operation?.operation !== "query" || !root || operation.directives?.length) return null;
  const compilation: Compilation = { fragments: fragmentsOf(document) };
  const nodes = unlessIndirect(() => fieldsOf(compilation, root, operation.selectionSet));
  if (!nodes) return null;
  const byKey = new Map(nodes);
  const owner = String(++prepared);
  const selection = `${operationName ?? ""}\n${selectionOf(document, new Set(byKey.values()))}`;

  const compile = (parts: readonly RootPart[]) =>
    unlessIndirect((): CompiledRead => {
      const guard = sql.join(
        nodes.map(([, node]) => guardSql(guardOf(fieldOf(root, node)))),
        " and ",
      );
      const texts = nodes.map(([key, node], index) => {
        const bind: BindNth = (n) => lateValue(({ values }) => values.get(key)?.[n] ?? null);
        return [key, rootText(compilation, root, node, parts[index], bind)] as const;
      });
      const answer = sql`select ${textSql(objectText(texts))} as data where ${guard}`;
      const { text, records } = recordedAnswer(answer, schema, document, operation);
      const mayBeLong = parts.some(({ kind: { kind } }) => kind === "list" || kind === "page");
      return { statementFor: namedStatement(mayBeLong ? inPieces(text) : text), records };
    });

  const ask = (sent: Record<string, unknown>) =>
    unlessIndirect((): AskedRead => {
      const coerced = coerceVariables(schema, operation, sent);
      if (!coerced) throw new IndirectError("variables");
      const parts = nodes.map(([key, node]) => {
        const field = fieldOf(root, node);
        const args = getArgumentValues(field, node, coerced);
        return keptRootPart(`${owner} ${key}`, compilation, field, node, args);
      });
      return {
        key: [selection, ...parts.map(({ shape }) => shape)].join("\n"),
        given: {
          variables: withDefaults(operation, sent),
          nodes: byKey,
          values: new Map(nodes.map(([key], index) => [key, parts[index]?.values ?? []])),
        },
        compile: () => compile(parts),
      };
    });
  return { ask };
}

/** What a document selects, without the arguments of its root fields, of which the parts tell. */
function selectionOf(document: DocumentNode, roots: ReadonlySet<FieldNode>): string {
  return print(
    visit(document, {
      VariableDefinition: () => null,
      Field: (node) => (roots.has(node) ? { ...node, arguments: [] } : undefined),
    }),
  );
}

/** Null where something is refused or indirect: whatever is wrong with a request, Grafast says it. */
function unlessIndirect<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof Error) return null;
    throw error;
  }
}

function rootText(
  compilation: Compilation,
  root: GraphQLObjectType,
  node: FieldNode,
  asked: RootPart | undefined,
  bind: BindNth,
): Text {
  const type = typeOf(fieldOf(root, node));
  const name = node.name.value;
  switch (asked?.kind.kind) {
    case "one": {
      const { rows, wanted } = asked.kind;
      const row = tableRow(name);
      const object = rowText(compilation, type, node, row);
      return orNull([
        sql`(select ${textSql(object)} from ${rows.from} as ${row.alias} where ${row.column("id")} = ${wanted(bind)})`,
      ]);
    }
    case "list": {
      const { rows, part } = asked.kind;
      const object = (row: Row) => rowText(compilation, type, node, row);
      return listText(rows.from, name, object, part(bind), true);
    }
    case "page":
      return pageText(compilation, type, node, asked.kind, bind);
    case "object":
      return membersText(compilation, type, node, asked.kind.members(bind));
    default:
      throw new IndirectError(name);
  }
}

function membersText(
  compilation: Compilation,
  type: GraphQLObjectType,
  node: FieldNode,
  members: Members,
): Text {
  const parts = fieldsOf(compilation, type, node.selectionSet).map(([key, child]) => {
    const name = child.name.value;
    if (name === "__typename") return [key, [`"${type.name}"`]] as const;
    const member = members[name];
    if (!member || child.arguments?.length) throw new IndirectError(name);
    if ("text" in member) return [key, [member.text]] as const;
    const of = typeOf(fieldOf(type, child));
    const text = listText(member.from, name, (row) => rowText(compilation, of, child, row), {
      order: [],
    });
    return [key, text] as const;
  });
  return objectText(parts);
}
