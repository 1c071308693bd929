import { badUserInput, type PublicError } from "../errors/PublicError.ts";
import type { CursorValue } from "./cursors.ts";
import { readCursor } from "./cursors.ts";

/** The default and the largest page size of a connection. */
export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 250;
/** The largest part of a plain list. */
export const MAX_LIST_SIZE = 1000;

/** The paging arguments of a connection as sent. */
export interface PageArguments {
  first?: number | null;
  last?: number | null;
  offset?: number | null;
  before?: string | null;
  after?: string | null;
}

/** Valid paging arguments; exactly one of `first` and `last` is a number. */
export interface Page {
  first: number | null;
  last: number | null;
  offset: number | null;
  before: readonly CursorValue[] | null;
  after: readonly CursorValue[] | null;
}

/**
 * Validates the paging arguments and fills the page size: the first 50, or the last 50 where only `before` is given.
 * `first: 0` is allowed, for totals.
 * @throws PublicError
 */
export function readPage(given: PageArguments): Page {
  const first = checkSize("first", given.first, MAX_PAGE_SIZE);
  const last = checkSize("last", given.last, MAX_PAGE_SIZE);
  const offset = checkOffset(given.offset);
  const before = given.before == null ? null : readCursor("before", given.before);
  const after = given.after == null ? null : readCursor("after", given.after);
  if (first !== null && last !== null)
    throw invalidArgument("last", "first and last cannot be used together");
  if (offset !== null && last !== null)
    throw invalidArgument("offset", "offset and last cannot be used together");
  const page = { first, last, offset, before, after };
  if (first !== null || last !== null) return page;
  const backwards = before !== null && after === null && offset === null;
  return backwards ? { ...page, last: DEFAULT_PAGE_SIZE } : { ...page, first: DEFAULT_PAGE_SIZE };
}

/** The next power of two: few numbers, so that they can be literals of a statement. */
export function nextPowerOfTwo(rows: number): number {
  return 2 ** Math.ceil(Math.log2(rows));
}

/** The maximum number of rows read for a page, including the one that shows whether more follow, rounded up. */
export function rowLimitOfPage({ first, last, offset }: Page): number {
  return nextPowerOfTwo((first ?? last ?? 0) + (offset ?? 0) + 1);
}

/** Validates a page size; null is no limit. @throws PublicError */
export function checkSize(
  name: string,
  size: number | null | undefined,
  largest: number,
): number | null {
  if (size == null) return null;
  if (size < 0 || size > largest)
    throw invalidArgument(name, `${name} must be from 0 to ${largest}`);
  return size;
}

/** Validates an offset. @throws PublicError */
export function checkOffset(offset: number | null | undefined): number | null {
  if (offset == null) return null;
  if (offset < 0) throw invalidArgument("offset", "offset must be 0 or more");
  return offset;
}

function invalidArgument(name: string, message: string): PublicError {
  return badUserInput(message, { path: [name] });
}
