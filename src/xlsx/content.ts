import { SHEET_LIMITS } from "./limits.ts";
import { dayOf, isoDay, isoMoment, momentOf, serialOf } from "./serials.ts";
import type { CellKind, CellValue } from "./values.ts";

/** The content of a cell. `serial` is a date's serial number. */
export type CellContent =
  | { readonly type: "empty"; readonly note?: CellNote }
  | { readonly type: "number"; readonly value: string; readonly note?: CellNote }
  | { readonly type: "serial"; readonly value: string; readonly note?: CellNote }
  | { readonly type: "boolean"; readonly value: boolean; readonly note?: CellNote }
  | { readonly type: "text"; readonly value: string; readonly note?: CellNote };

/** Ways in which a cell differs from its value, with the message for users. */
export type CellNote = keyof typeof CELL_NOTES;

export const CELL_NOTES = {
  cut: `text beyond the ${SHEET_LIMITS.cellText.toLocaleString("en")} characters of a cell is cut off`,
  digits:
    "a number with more than 15 digits before its point is kept as text, since a cell cannot hold it exactly",
  rounded: "a number with more digits than a cell can hold is rounded to the nearest that it can",
  range: "a number too large or too small for a cell is kept as text",
  notNumber: "a value that is not a number is kept as text",
  dateRange:
    "a date before 1 March 1900 or after 9999, which programs read differently, is kept as text",
  notDate: "a value that is not a date is kept as text, or omitted when it has no text",
  halfPair: "an unpaired surrogate is replaced by \ufffd",
} as const;

const EMPTY: CellContent = { type: "empty" };
const MAX_DIGITS = 15;
const LARGEST = 9.99999999999999e307;
const SMALLEST = 2.2250738585072e-308;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;

/** Converts a value to cell content; `date1904` selects the workbook's date system. */
export function toCellContent(
  value: CellValue | undefined,
  kind: CellKind,
  date1904 = false,
): CellContent {
  // An empty string becomes an empty cell, so that COUNTA ignores it.
  if (value === null || value === undefined || value === "") return EMPTY;
  if (typeof value === "boolean") return { type: "boolean", value };
  switch (kind) {
    case "integer":
    case "decimal":
      return value instanceof Date ? asDate(value, "datetime", date1904) : asNumber(value);
    case "date":
    case "datetime":
      return typeof value === "string" || value instanceof Date
        ? asDate(value, kind, date1904)
        : asText(String(value), "notDate");
    default:
      return asText(plainText(value, kind));
  }
}

/** The value as part of a longer text: dates as `2026-01-31`, timestamps in UTC, null as an empty string. */
export function plainText(value: CellValue | undefined, kind: CellKind): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (value instanceof Date || kind === "date" || kind === "datetime") {
    if (!(value instanceof Date) && typeof value !== "string") return String(value);
    const time = kind === "date" ? dayOf(value) : momentOf(value);
    if (time === null) return value instanceof Date ? "" : value;
    return kind === "date" ? isoDay(time) : isoMoment(time);
  }
  return String(value);
}

function asText(text: string, note?: CellNote): CellContent {
  if (text.length <= SHEET_LIMITS.cellText) {
    const found = note ?? (text.isWellFormed() ? undefined : "halfPair");
    return found === undefined
      ? { type: "text", value: text }
      : { type: "text", value: text, note: found };
  }
  // Does not split a surrogate pair.
  const last = text.charCodeAt(SHEET_LIMITS.cellText - 1);
  const end = SHEET_LIMITS.cellText - (last >= 0xd800 && last <= 0xdbff ? 1 : 0);
  return { type: "text", value: text.slice(0, end), note: "cut" };
}

/** Short enough for a cell to hold it exactly. */
const SHORT_NUMBER = /^-?\d{1,12}(?:\.\d{1,3})?$/;

function asNumber(value: string | number | bigint): CellContent {
  const text = String(value);
  // The fast path for nearly all numbers; the remaining checks cost more than writing the cell.
  if (SHORT_NUMBER.test(text)) return { type: "number", value: text };
  const parts = DECIMAL.exec(text);
  if (!parts || (!parts[2] && !parts[3])) return asText(text, "notNumber");
  const number = Number(text);
  const size = Math.abs(number);
  const [, , whole = "", fraction = ""] = parts;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (size > LARGEST || (size < SMALLEST && digits !== "")) return asText(text, "range");
  const written = Object.is(number, -0) ? "0" : String(number);
  if (typeof value === "number") return { type: "number", value: written };
  const significant = digits.replace(/0+$/, "").length;
  if (significant <= MAX_DIGITS) return { type: "number", value: written };
  if (parts[4] !== undefined || whole.replace(/^0+/, "").length <= MAX_DIGITS)
    return { type: "number", value: written, note: "rounded" };
  return asText(text, "digits");
}

function asDate(value: Date | string, kind: "date" | "datetime", date1904: boolean): CellContent {
  const time = kind === "date" ? dayOf(value) : momentOf(value);
  if (time === null)
    return value instanceof Date ? { type: "empty", note: "notDate" } : asText(value, "notDate");
  const serial = serialOf(time, date1904);
  if (serial === null) return asText(kind === "date" ? isoDay(time) : isoMoment(time), "dateRange");
  return { type: "serial", value: String(serial) };
}
