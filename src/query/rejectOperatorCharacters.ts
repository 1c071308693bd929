import type { QueryNode, TermNode } from "./ast.ts";
import type { SearchTable } from "./catalogue.ts";
import { resolveField, resolveRelation } from "./catalogue.ts";
import { excerpt } from "./excerpt.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";

type Sign = Pick<QueryNode, "position" | "end"> & { text: string };

const LETTER_OR_DIGIT = /[\p{Alphabetic}\p{N}]/u;

/**
 * Refuses a text of signs alone where nothing else narrows what is searched: indexes know letters and digits only, so that every
 * row would have to be read. Beside a word or a term that must hold, such as in `moët & chandon`, it is welcome.
 */
export function rejectOperatorCharacters(node: QueryNode, table: SearchTable): void {
  const sign = unfound(node, table, 0);
  if (sign === null) return;
  const reason = `${excerpt(sign.text)} has no letter or digit by which it could be found (put a word or a term beside it)`;
  throw new QuerySyntaxError(reason, sign.position, sign.end - sign.position);
}

/** The text that keeps an index from finding the rows of a node. */
function unfound(node: QueryNode, table: SearchTable, crossed: number): Sign | null {
  switch (node.kind) {
    case "word":
      return hasLetters(node.text) ? null : node;
    case "term":
      return unfoundIn(node, table, crossed);
    case "and": {
      const found = node.children.map((child) => unfound(child, table, crossed));
      const narrows = node.children.some(({ kind }, at) => kind !== "not" && found[at] === null);
      return narrows ? null : (found.find((sign) => sign !== null) ?? null);
    }
    case "or":
      for (const child of node.children) {
        const sign = unfound(child, table, crossed);
        if (sign !== null) return sign;
      }
      return null;
    case "not":
      // What a row does not have no index finds, signs or not.
      return null;
    case "related": {
      const { relations, table: related } = resolveRelation(table, node.relation, crossed);
      return unfound(node.child, related, crossed + relations.length);
    }
  }
}

function unfoundIn(term: TermNode, table: SearchTable, crossed: number): Sign | null {
  if (!["eq", "prefix", "in"].includes(term.operator)) return null;
  const { field } = resolveField(table, term.field, crossed);
  if (field.kind !== "text" || field.list) return null;
  return term.values.find((value) => value !== null && !hasLetters(value.text)) ?? null;
}

function hasLetters(text: string): boolean {
  return LETTER_OR_DIGIT.test(text);
}
