import type { z } from "zod";
import type { UnreadableErpRecord } from "../erp.ts";

/** Stands for a record that is larger than a response may be; only its number and its time are known. */
export class OversizedRecord {
  readonly number: string | null;
  readonly lastModifiedDateTime: string | null;

  constructor(number: string | null, lastModifiedDateTime: string | null = null) {
    this.number = number;
    this.lastModifiedDateTime = lastModifiedDateTime;
  }
}

/** The readable records of a response, and the legible parts of the others. */
export interface ReadRecords<Entity> {
  records: Entity[];
  unreadable: UnreadableErpRecord[];
}

/**
 * Parses each record separately, so that an invalid one does not affect the others.
 * @param schema its output is the argument of `into`, which creates the service's record
 */
export function readRecords<Schema extends z.ZodType, Entity>(
  raw: readonly unknown[],
  schema: Schema,
  into: (record: z.output<Schema>) => Entity,
): ReadRecords<Entity> {
  const records: Entity[] = [];
  const unreadable: UnreadableErpRecord[] = [];
  for (const candidate of raw) {
    if (candidate instanceof OversizedRecord) {
      const { number } = candidate;
      const message = "is larger than the service reads";
      unreadable.push({ number, id: null, revision: null, path: "record", message });
      continue;
    }
    const read = schema.safeParse(candidate);
    if (read.success) records.push(into(read.data));
    else unreadable.push(describe(candidate, read.error.issues[0]));
  }
  return { records, unreadable };
}

/** A record's property, if it is a valid string. */
export function readableString(candidate: unknown, property: string): string | null {
  if (typeof candidate !== "object" || candidate === null) return null;
  const value: unknown = (candidate as Record<string, unknown>)[property];
  return typeof value === "string" && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(value) ? value : null;
}

function describe(candidate: unknown, issue: z.core.$ZodIssue | undefined): UnreadableErpRecord {
  return {
    number: readableString(candidate, "number"),
    id: readableString(candidate, "id"),
    revision: readableString(candidate, "@odata.etag"),
    path: pathText(issue?.path ?? []),
    message: issue?.message ?? "is wrong",
  };
}

function pathText(path: readonly PropertyKey[]): string {
  const parts = path.map((key, index) =>
    typeof key === "number" ? `[${key}]` : `${index > 0 ? "." : ""}${String(key)}`,
  );
  return parts.join("") || "record";
}
