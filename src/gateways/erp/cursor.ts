import { z } from "zod";
import { ErpCursorError } from "../erp.ts";

const epochMs = z.int();

const position = z.object({
  v: z.literal(1),
  set: z.string(),
  /** All changes up to this instant have been read; null at the beginning. */
  floor: epochMs.nullable(),
  /** The newest change known to the ERP at the time `seenAt` of this service's clock. */
  mark: z.object({ newest: epochMs, seenAt: epochMs }).nullable(),
  /** The run in progress. */
  run: z
    .object({
      /** The newest change when the run started, where it ends. */
      newest: epochMs,
      startedAt: epochMs,
      /** The run continues from this instant; null before the first page. */
      from: epochMs.nullable(),
      /** A crowd: records with nearly the same timestamp, which are paged by number. */
      crowd: z.object({ to: epochMs, after: z.string().max(100).nullable() }).nullable(),
    })
    .nullable(),
});

/** The position of a reader of changes, see `changes.ts`. All instants are in milliseconds since 1970. */
export type Position = z.output<typeof position>;
export type Run = NonNullable<Position["run"]>;

/** @throws ErpCursorError when the string is not a cursor of this set */
export function readCursor(cursor: string | null, set: string): Position {
  if (cursor === null) return { v: 1, set, floor: null, mark: null, run: null };
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch (error) {
    throw new ErpCursorError("The stored cursor is damaged", { cause: error });
  }
  const parsed = position.safeParse(read);
  if (!parsed.success) throw new ErpCursorError("The stored cursor is damaged");
  if (parsed.data.set !== set)
    throw new ErpCursorError(`The stored cursor belongs to ${parsed.data.set}, not to ${set}`);
  return parsed.data;
}

export function writeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}
