import { SHEET_LIMITS } from "../limits.ts";
import { Edits } from "./edits.ts";
import type { XmlElement, XmlPart } from "./xmlTree.ts";
import { attribute, child } from "./xmlTree.ts";

/** The cell formats of a workbook, extended with variants that values need. */
export interface StyleRegistry {
  /**
   * The format itself if it shows dates, otherwise a variant with the reader's short date, with the time if `withTime`.
   */
  forDate(style: number, withTime: boolean): number;
  /** A variant whose text stays text when a user edits it. */
  forQuotedText(style: number): number;
  /** The changed part; null if nothing was added. */
  xml(): string | null;
}

const SHORT_DATE = "14";
const SHORT_DATE_TIME = "22";

/** `part` is `styles.xml`; without it, formats do not change. */
export function styleRegistry(part: XmlPart | null): StyleRegistry {
  const list = part ? child(part.root, "cellXfs") : undefined;
  if (!part || !list)
    return { forDate: (style) => style, forQuotedText: (style) => style, xml: () => null };
  const customFormats = new Map(
    (child(part.root, "numFmts")?.children ?? []).map((format) => [
      attribute(part, format, "numFmtId") ?? "",
      attribute(part, format, "formatCode") ?? "",
    ]),
  );
  const formats = list.children;
  const added: string[] = [];
  const known = new Map<string, number>();
  const variant = (
    style: number,
    name: string,
    change: (edits: Edits, format: XmlElement) => void,
  ) => {
    const format = formats[style];
    if (!format) return style;
    const key = `${style}:${name}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const edits = new Edits(part);
    change(edits, format);
    const index = formats.length + added.push(edits.apply(format.start, format.end)) - 1;
    known.set(key, index);
    return index;
  };
  const showsDate = formats.map((format) => {
    const id = attribute(part, format, "numFmtId") ?? "0";
    return isDateFormat(Number(id), customFormats.get(id));
  });
  return {
    forDate: (style, withTime) => {
      if (showsDate[style] === true) return style;
      const id = withTime ? SHORT_DATE_TIME : SHORT_DATE;
      return variant(style, id, (edits, format) => {
        edits.setAttribute(format, "numFmtId", id);
        edits.setAttribute(format, "applyNumberFormat", "1");
      });
    },
    forQuotedText: (style) =>
      variant(style, "quoted", (edits, format) => edits.setAttribute(format, "quotePrefix", "1")),
    xml: () => {
      if (added.length === 0) return null;
      const edits = new Edits(part);
      edits.append(list, added.join(""));
      if (attribute(part, list, "count") !== undefined)
        edits.setAttribute(list, "count", String(formats.length + added.length));
      return edits.apply();
    },
  };
}

/** Whether a number format shows dates or times; `code` is the code of a custom format. */
export function isDateFormat(id: number, code: string | undefined): boolean {
  if (code === undefined)
    return (
      (id >= 14 && id <= 22) ||
      (id >= 27 && id <= 36) ||
      (id >= 45 && id <= 47) ||
      (id >= 50 && id <= 58)
    );
  // Excel rejects longer formats, and searching for a closing bracket in them would be slow.
  if (code.length > SHEET_LIMITS.numberFormat) return false;
  // Quoted and escaped text, colours, conditions and currencies do not show the value; `[h]` does.
  const shown = code
    .replace(/"[^"]*"|\\.|[_*].|\[(?![hms]+\])[^\]]*\]/gi, "")
    .replace(/general/gi, "");
  return /[ymdhs]/i.test(shown);
}
