import { createHash } from "node:crypto";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** A record as the API shows it, without what the table adds: its time of change and its etag. */
export type Row = Record<string, Json>;

/** A record's place; the record itself is made when it is shown. */
export interface Entry {
  /** Number or code, by which it is known. */
  key: string;
  /** When it was changed last, in milliseconds since 1970. */
  modified: number;
  version: number;
  /** Which one it is of those that follow from the seed; -1 for one that was added. */
  index: number;
  /** Set once it was changed. */
  row: Row | null;
}

/** A property's text; empty when it is none. */
export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** An entity set. */
export interface Table {
  /** In order of change, then of key. */
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
  /** Makes the record that follows from the seed. */
  make: (index: number) => Row;
}

/** A set of any size: only keys and times are held, and the records that were changed. */
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
        // A time that a tester has put there is shown as it is.
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

/** The first place whose entry is not before the one given. */
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

/** Business Central shows no zeros at the end of a fraction. */
function shown(epochMs: number): string {
  return new Date(epochMs)
    .toISOString()
    .replace(/\.(\d*?)0+Z$/, (_all, digits: string) => (digits === "" ? "Z" : `.${digits}Z`));
}
