import type { QueryNode } from "./ast.ts";
import { parseBoundQuery } from "./boundValues.ts";
import {
  resolveField,
  resolveRelation,
  type ListFilter,
  type SearchField,
  type SearchTable,
} from "./searchTable.ts";
import { parseQuery } from "./parse.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";

/** The placeholder for the argument's value in the condition of a filter. */
const placeholder = "$value";

/**
 * The field that is compared with the argument of a filter; null if the argument only turns the condition on.
 * @throws QuerySyntaxError for an invalid condition
 */
export function filterField(table: SearchTable, { condition }: ListFilter): SearchField | null {
  return comparedField(parseQuery(condition), table, 0);
}

function comparedField(node: QueryNode, table: SearchTable, crossed: number): SearchField | null {
  switch (node.kind) {
    case "and":
    case "or": {
      const fields = node.children.map((child) => comparedField(child, table, crossed));
      return fields.find((field) => field !== null) ?? null;
    }
    case "not":
      return comparedField(node.child, table, crossed);
    case "related": {
      const { relations, table: related } = resolveRelation(table, node.relation, crossed);
      return comparedField(node.child, related, crossed + relations.length);
    }
    case "word":
      if (node.text === placeholder && !node.phrase)
        throw new QuerySyntaxError(`\`${placeholder}\` has no field before it`, node.position);
      return null;
    case "term": {
      const { field } = resolveField(table, node.field, crossed);
      const isCompared = node.values.some((value) => value?.text === placeholder && !value.quoted);
      return isCompared ? field : null;
    }
  }
}

/**
 * The condition of a filter for a value of its argument; null if the argument turns it off.
 * @throws PublicError at the argument, for an invalid value
 */
export function parseFilter(
  table: SearchTable,
  argument: string,
  value: unknown,
): QueryNode | null {
  const filter = table.filters.get(argument);
  if (!filter || value == null) return null;
  const field = filterField(table, filter);
  if (field === null) return value === true ? parseQuery(filter.condition) : null;
  const values = { [placeholder.slice(1)]: nameOf(field, value) };
  return parseBoundQuery(filter.condition, values, () => [argument]);
}

/** Enumeration values are written by their names in the API. */
function nameOf({ values }: SearchField, value: unknown): unknown {
  return [...(values ?? [])].find(([, known]) => known === value)?.[0] ?? value;
}
