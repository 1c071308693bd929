import type { QueryNode } from "./ast.ts";
import type { SearchRelation, SearchTable } from "./searchTable.ts";
import { resolveField, resolveRelation } from "./searchTable.ts";

/** The names of the tables, other than that of the rows, whose rows a search reads through relations. */
export function relatedTables(node: QueryNode, table: SearchTable, crossed = 0): string[] {
  switch (node.kind) {
    case "word":
      return [];
    case "not":
      return relatedTables(node.child, table, crossed);
    case "and":
    case "or":
      return node.children.flatMap((child) => relatedTables(child, table, crossed));
    case "related": {
      const { relations, table: last } = resolveRelation(table, node.relation, crossed);
      return [
        ...relations.flatMap(tablesOf),
        ...relatedTables(node.child, last, crossed + relations.length),
      ];
    }
    case "term":
      return resolveField(table, node.field, crossed).relations.flatMap(tablesOf);
  }
}

function tablesOf({ table, through }: SearchRelation): string[] {
  return [...(through ? [through.name] : []), table().name];
}
