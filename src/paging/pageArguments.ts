import { sql } from "postgraphile/pg-sql2";
import { badUserInput, type PublicError } from "../errors/PublicError.ts";
import type { CursorValue, Seek } from "./cursors.ts";
import { readCursor } from "./cursors.ts";

/** Rows in a page of a connection when nothing is said, and at most. */
export const DEFAULT_PAGE = 50;
export const LARGEST_PAGE = 250;
/** Rows of a plain list at most, where a caller asks for a part of it. */
export const LARGEST_LIST_PART = 1000;

/** The paging arguments of a connection as they arrive. */
export interface PageArguments {
  first?: number | null;
  last?: number | null;
  offset?: number | null;
  before?: string | null;
  after?: string | null;
}

/** Checked paging arguments; exactly one of `first` and `last` is a number. */
export interface Page {
  first: number | null;
  last: number | null;
  offset: number | null;
  before: readonly CursorValue[] | null;
  after: readonly CursorValue[] | null;
}

/**
 * Checks the paging arguments of a connection and fills in the page size: the first 50 or, where only `before` is
 * given, the last 50 before it. `first: 0` is allowed, for those who want only the total. @throws PublicError
 */
export function readPage(given: PageArguments): Page {
  const first = checkSize("first", given.first, LARGEST_PAGE);
  const last = checkSize("last", given.last, LARGEST_PAGE);
  const offset = checkOffset(given.offset);
  const before = given.before == null ? null : readCursor("before", given.before);
  const after = given.after == null ? null : readCursor("after", given.after);
  if (first !== null && last !== null) throw bad("last", "first and last cannot be used together");
  if (offset !== null && last !== null)
    throw bad("offset", "offset and last cannot be used together");
  const page = { first, last, offset, before, after };
  if (first !== null || last !== null) return page;
  const backwards = before !== null && after === null && offset === null;
  return backwards ? { ...page, last: DEFAULT_PAGE } : { ...page, first: DEFAULT_PAGE };
}

/** The next power of two: of such numbers there are few, so that they can stand in the text of a statement. */
export function roundedUp(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

/** How many rows a page reads at most from where it begins, with the one that tells whether there are more, rounded up. */
export function reachOfPage({ first, last, offset }: Page): number {
  return roundedUp((first ?? last ?? 0) + (offset ?? 0) + 1);
}

/**
 * How far a page reaches beyond its one cursor; null where the page does not begin at the cursor. Not for what hangs on another row,
 * which that one finds.
 */
export function seekOf(page: Page, condition: Seek["condition"]): Seek | null {
  const size = page.before === null ? page.first : page.after === null ? page.last : null;
  return size === null ? null : { limit: sql.literal(reachOfPage(page)), condition };
}

/** Checks how many rows are asked for; null is no limit. @throws PublicError */
export function checkSize(
  name: string,
  size: number | null | undefined,
  largest: number,
): number | null {
  if (size == null) return null;
  if (size < 0 || size > largest) throw bad(name, `${name} must be from 0 to ${largest}`);
  return size;
}

/** Checks how many rows are to be passed over. @throws PublicError */
export function checkOffset(offset: number | null | undefined): number | null {
  if (offset == null) return null;
  if (offset < 0) throw bad("offset", "offset must be 0 or more");
  return offset;
}

function bad(name: string, message: string): PublicError {
  return badUserInput(message, { path: [name] });
}
