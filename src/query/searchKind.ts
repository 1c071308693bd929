import type { QueryNode } from "./ast.ts";
import type { SearchTable } from "./searchTable.ts";
import { resolveField, resolveRelation } from "./searchTable.ts";

/** The kind of a search: words only, other texts too, or neither. */
export type SearchKind = "words" | "texts" | "values";

/**
 * The kind of a search. PostgreSQL cannot estimate how many rows match a word or text and picks bad plans; for values
 * such as numbers and dates its statistics suffice.
 */
export function searchKind(node: QueryNode, table: SearchTable, crossed = 0): SearchKind {
  switch (node.kind) {
    case "word":
      return "words";
    case "not":
      return searchKind(node.child, table, crossed);
    case "and":
    case "or": {
      const [first = "values", ...rest] = node.children.map((child) =>
        searchKind(child, table, crossed),
      );
      return rest.every((kind) => kind === first) ? first : "texts";
    }
    case "related": {
      const { relations, table: related } = resolveRelation(table, node.relation, crossed);
      const kind = searchKind(node.child, related, crossed + relations.length);
      return kind === "values" ? "values" : "texts";
    }
    case "term": {
      const { kind } = resolveField(table, node.field, crossed).field;
      const isText = kind === "text" && ["eq", "in", "prefix"].includes(node.operator);
      return isText || (kind === "exact" && node.operator === "prefix") ? "texts" : "values";
    }
  }
}
