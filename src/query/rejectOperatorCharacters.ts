import type { QueryNode, TermNode } from "./ast.ts";
import type { SearchTable } from "./searchTable.ts";
import { resolveField, resolveRelation } from "./searchTable.ts";
import { excerpt } from "./excerpt.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";

type Sign = Pick<QueryNode, "position" | "end"> & { text: string };

const LETTER_OR_DIGIT = /[\p{Alphabetic}\p{N}]/u;

/**
 * Rejects a text without letters and digits unless another condition narrows the search: indexes contain only letters and
 * digits, so every row would be read. Beside a word or term, as in `moët & chandon`, it is allowed.
 */
export function rejectOperatorCharacters(node: QueryNode, table: SearchTable): void {
  const sign = findUnindexedText(node, table, 0);
  if (sign === null) return;
  const reason = `${excerpt(sign.text)} has no letter or digit by which it could be found (put a word or a term beside it)`;
  throw new QuerySyntaxError(reason, sign.position, sign.end - sign.position);
}

/** The text that no index finds; null where an index serves the node. */
function findUnindexedText(node: QueryNode, table: SearchTable, crossed: number): Sign | null {
  switch (node.kind) {
    case "word":
      return hasLetters(node.text) ? null : node;
    case "term":
      return findUnindexedTextInTerm(node, table, crossed);
    case "and": {
      const found = node.children.map((child) => findUnindexedText(child, table, crossed));
      const narrows = node.children.some(({ kind }, at) => kind !== "not" && found[at] === null);
      return narrows ? null : (found.find((sign) => sign !== null) ?? null);
    }
    case "or":
      for (const child of node.children) {
        const sign = findUnindexedText(child, table, crossed);
        if (sign !== null) return sign;
      }
      return null;
    case "not":
      // No index serves an exclusion, with signs or without.
      return null;
    case "related": {
      const { relations, table: related } = resolveRelation(table, node.relation, crossed);
      return findUnindexedText(node.child, related, crossed + relations.length);
    }
  }
}

function findUnindexedTextInTerm(term: TermNode, table: SearchTable, crossed: number): Sign | null {
  if (!["eq", "prefix", "in"].includes(term.operator)) return null;
  const { field } = resolveField(table, term.field, crossed);
  if (field.kind !== "text" || field.list) return null;
  return term.values.find((value) => value !== null && !hasLetters(value.text)) ?? null;
}

function hasLetters(text: string): boolean {
  return LETTER_OR_DIGIT.test(text);
}
