import { z } from "zod";
import { ErpCursorError } from "../erp.ts";

const epochMs = z.int();

const position = z.object({
  v: z.literal(1),
  set: z.string(),
  /** All changes up to this instant are behind us for good; null at the very beginning. */
  floor: epochMs.nullable(),
  /** The newest change that the ERP knew at some earlier time `seenAt` of ours. */
  mark: z.object({ newest: epochMs, seenAt: epochMs }).nullable(),
  /** The run that is under way. */
  run: z
    .object({
      /** The newest change at its beginning: where it ends. */
      newest: epochMs,
      startedAt: epochMs,
      /** Changes from this instant on are yet to come; null while there was no page. */
      from: epochMs.nullable(),
      /** So many records bear nearly the same instant that they are gone through by number. */
      crowd: z.object({ to: epochMs, after: z.string().max(100).nullable() }).nullable(),
    })
    .nullable(),
});

/** How far a reader of changes is; see `changes.ts`. All instants are in milliseconds since 1970. */
export type Position = z.output<typeof position>;
export type Run = NonNullable<Position["run"]>;

/** @throws ErpCursorError when the text is no cursor of this set */
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
    throw new ErpCursorError(`The stored cursor is one of ${parsed.data.set}, not of ${set}`);
  return parsed.data;
}

export function writeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString("base64url");
}
