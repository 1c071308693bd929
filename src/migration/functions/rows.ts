import type { Node, RangeVar } from "libpg-query";
import { parseSync, scanSync } from "../lint/parser.ts";

/** A query with a statement's columns and no rows, without side effects; undefined when there is none. */
export function withoutRows(sql: string): string | undefined {
  if (!/^\s*(?:insert|update|delete|merge)\b/i.test(sql))
    return `select * from (${sql}\n) as q__ where false`;
  const [statement] = parseSync(sql).stmts ?? [];
  const relation = statement?.stmt && changedTable(statement.stmt);
  const returned = returnedColumns(sql);
  if (!relation?.relname || returned === undefined) return undefined;
  const alias = relation.alias?.aliasname;
  return `select ${returned}\nfrom ${quoted(relation.relname)}${alias === undefined ? "" : ` as ${quoted(alias)}`} where false`;
}

function changedTable(node: Node): RangeVar | undefined {
  if ("InsertStmt" in node) return node.InsertStmt.relation;
  if ("UpdateStmt" in node) return node.UpdateStmt.relation;
  if ("DeleteStmt" in node) return node.DeleteStmt.relation;
  return "MergeStmt" in node ? node.MergeStmt.relation : undefined;
}

/** The text after the last `returning` outside parentheses. */
function returnedColumns(sql: string): string | undefined {
  let depth = 0;
  let from: number | undefined;
  for (const { text, end } of scanSync(sql).tokens) {
    if (text === "(") depth++;
    if (text === ")") depth--;
    if (depth === 0 && text.toLowerCase() === "returning") from = end;
  }
  return from === undefined ? undefined : Buffer.from(sql).toString("utf8", from);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
