import { createHash } from "node:crypto";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A record as the API shows it, except the time of change and the etag, which the table adds. */
export type Row = Record<string, Json>;

/** An index entry. The record itself is generated when it is shown. */
export interface Entry {
  /** The record's number or code. */
  key: string;
  /** The time of the last change, in milliseconds since 1970. */
  modified: number;
  version: number;
  /** The index among the generated records; -1 for an added record. */
  index: number;
  /** Set for changed and added records; others are generated. */
  row: Row | null;
}

/** The value of a text property; empty for other values. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** An entity set. */
export interface Table {
  /** Ordered by time of change, then by key. */
  entries(): readonly Entry[];
  find(key: string): Entry | undefined;
  show(entry: Entry): Row;
  /** Adds or replaces a record. */
  put(key: string, row: Row, modified: number): void;
  remove(key: string): boolean;
}

export interface TableOptions {
  count: number;
  keyAt: (index: number) => string;
  modifiedAt: (index: number) => number;
  /** Generates a record from the seed. */
  make: (index: number) => Row;
}

/** An entity set of any size. Only keys, times and changed records are in memory. */
export function makeTable({ count, keyAt, modifiedAt, make }: TableOptions): Table {
  const entries: Entry[] = [];
  const byKey = new Map<string, Entry>();
  for (let index = 0; index < count; index++) {
    const entry = { key: keyAt(index), modified: modifiedAt(index), version: 1, index, row: null };
    entries.push(entry);
    byKey.set(entry.key, entry);
  }
  entries.sort(compare);
  const placeOf = (entry: Entry) => firstAtLeast(entries, entry);

  return {
    entries: () => entries,
    find: (key) => byKey.get(key),
    show(entry) {
      const row = entry.row ?? make(entry.index);
      const mark = createHash("sha1").update(`${entry.key}/${entry.modified}/${entry.version}`);
      return {
        "@odata.etag": `W/"${mark.digest("base64")}"`,
        ...row,
        // A test may have set an invalid time, which is shown unchanged.
        lastModifiedDateTime: row["lastModifiedDateTime"] ?? shown(entry.modified),
      };
    },
    put(key, row, modified) {
      const before = byKey.get(key);
      if (before !== undefined) entries.splice(placeOf(before), 1);
      const { version = 0, index = -1 } = before ?? {};
      const entry = { key, modified, version: version + 1, index, row };
      entries.splice(placeOf(entry), 0, entry);
      byKey.set(key, entry);
    },
    remove(key) {
      const entry = byKey.get(key);
      if (entry === undefined) return false;
      entries.splice(placeOf(entry), 1);
      return byKey.delete(key);
    },
  };
}

function compare(a: Pick<Entry, "modified" | "key">, b: Pick<Entry, "modified" | "key">): number {
  return a.modified - b.modified || (a.key < b.key ? -1 : Number(a.key > b.key));
}

/** The index of the first entry that is not before `wanted`. */
export function firstAtLeast(
  entries: readonly Entry[],
  wanted: Pick<Entry, "modified" | "key">,
): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && compare(entry, wanted) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Business Central omits trailing zeros of a fraction. */
function shown(epochMs: number): string {
  return new Date(epochMs)
    .toISOString()
    .replace(/\.(\d*?)0+Z$/, (_all, digits: string) => (digits === "" ? "Z" : `.${digits}Z`));
}
