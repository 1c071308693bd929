import type { ListSearch } from "./listSearch.ts";

const searches = new Map<string, ListSearch>();

/** The query, order and columns with which a list was last left for one of its rows. */
export function lastSearch(list: string): ListSearch {
  return searches.get(list) ?? {};
}

export function rememberSearch(list: string, { open: _drawers, ...search }: ListSearch): void {
  searches.set(list, search);
}
