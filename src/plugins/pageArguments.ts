import { OfficeError } from "../errors.ts";

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
  before: string | null;
  after: string | null;
}

/**
 * Checks the paging arguments of a connection and fills in the page size: the first 50 or, where only `before` is
 * given, the last 50 before it. `first: 0` is allowed, for those who want only the total. @throws OfficeError
 */
export function readPage(given: PageArguments): Page {
  const first = checkSize("first", given.first, LARGEST_PAGE);
  const last = checkSize("last", given.last, LARGEST_PAGE);
  const offset = checkOffset(given.offset);
  const before = checkCursor("before", given.before);
  const after = checkCursor("after", given.after);
  if (first !== null && last !== null) throw bad("last", "first and last cannot be used together");
  if (offset !== null && last !== null)
    throw bad("offset", "offset and last cannot be used together");
  const page = { first, last, offset, before, after };
  if (first !== null || last !== null) return page;
  const backwards = before !== null && after === null && offset === null;
  return backwards ? { ...page, last: DEFAULT_PAGE } : { ...page, first: DEFAULT_PAGE };
}

/** Checks how many rows are asked for; null is no limit. @throws OfficeError */
export function checkSize(
  name: string,
  size: number | null | undefined,
  largest: number,
): number | null {
  if (size == null) return null;
  if (size < 0 || size > largest) throw bad(name, `${name} must be from 0 to ${largest}`);
  return size;
}

/** Checks how many rows are to be passed over. @throws OfficeError */
export function checkOffset(offset: number | null | undefined): number | null {
  if (offset == null) return null;
  if (offset < 0) throw bad("offset", "offset must be 0 or more");
  return offset;
}

/** Checks that a text has the form of a cursor; whether it is one of this very order is known later. */
function checkCursor(name: string, cursor: string | null | undefined): string | null {
  if (cursor == null) return null;
  if (isCursor(cursor)) return cursor;
  throw bad(name, `${name} must be a cursor from an earlier answer`);
}

function isCursor(cursor: string): boolean {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, "base64").toString("utf8"));
    if (!Array.isArray(parts) || parts.length < 2) return false;
    const [digest, ...values] = parts as unknown[];
    return (
      typeof digest === "string" &&
      values.every((value) => value === null || typeof value !== "object")
    );
  } catch {
    return false;
  }
}

function bad(name: string, message: string): OfficeError {
  return new OfficeError("BAD_USER_INPUT", message, { path: [name] });
}
