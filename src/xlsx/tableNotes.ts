import type { CellNote } from "./content.ts";
import { CELL_NOTES } from "./content.ts";
import { SHEET_LIMITS } from "./limits.ts";

export type NoteKind = CellNote | "linkLimit" | "notPicture" | "headerCut";

const TEXTS: Readonly<Record<NoteKind, string>> = {
  ...CELL_NOTES,
  linkLimit: `a link beyond the ${SHEET_LIMITS.hyperlinks.toLocaleString("en")} hyperlinks of a sheet is plain text`,
  notPicture: "a picture that is neither PNG nor JPEG is left out",
  headerCut: "text beyond the 255 characters of a header or footer is cut off",
};

/** Counts cells that differ from their values, with one note for each column and reason. */
export class TableNotes {
  readonly #found = new Map<
    string,
    { title: string; kind: NoteKind; count: number; first: string }
  >();

  /** `column` is a column number or field name; `cell` returns the location, such as `A17` or `Prices (2)!A17`. */
  add(column: number | string, title: string, kind: NoteKind, cell: () => string): void {
    const key = `${column}:${kind}`;
    const found = this.#found.get(key);
    if (found) found.count++;
    else this.#found.set(key, { title, kind, count: 1, first: cell() });
  }

  /** One sentence for each column and reason. */
  list(): string[] {
    return [...this.#found.values()].map(
      ({ title, kind, count, first }) =>
        `${title}, ${count === 1 ? `1 cell (${first})` : `${count} cells (the first is ${first})`}: ${TEXTS[kind]}`,
    );
  }
}
