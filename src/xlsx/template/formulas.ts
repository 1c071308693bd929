import type { ReferenceA1Xlsx, Token } from "@borgar/fx/xlsx";
import { parseA1Ref, tokenize } from "@borgar/fx/xlsx";
import { columnName } from "../columns.ts";
import { SHEET_LIMITS } from "../limits.ts";
import { MAX_FORMULA_LENGTH } from "./formulaBudget.ts";
import { isForbiddenFunction } from "./packageRules.ts";
import type { CellPlace } from "./a1.ts";
import type { RowMove } from "./rowMove.ts";
import { doesBottomMove, heightOf, isPartial, sideOf } from "./rowMove.ts";

/**
 * A row number in a formula. It may grow by the block height per record, by the move's delta, by both or by neither.
 */
interface RowNumber {
  readonly row: number;
  readonly perRecord: boolean;
  readonly moves: boolean;
}

/** A formula split at its row numbers. */
export type FormulaParts = readonly (string | RowNumber)[];

/** The location of a formula. */
export interface FormulaPlace {
  readonly sheet: string;
  /** The cell, or the first cell of the range that the formula applies to; null for names and charts. */
  readonly cell: CellPlace | null;
  /**
   * `copied`: in the repeated rows. `spread`: relative to the first cell of a growing range, as in a conditional
   * format. `series`: in a chart, where a single cell is a range of one. `fixed`: anywhere else.
   */
  readonly use: "copied" | "spread" | "series" | "fixed";
}

type Range = ReferenceA1Xlsx["range"];

/** Functions with any number of cell arguments: a reference to one repeated cell is extended to all records. */
const AGGREGATES = new Set(
  (
    "SUM AVERAGE COUNT COUNTA COUNTBLANK MIN MAX MEDIAN PRODUCT STDEV STDEV.S STDEV.P VAR VAR.S VAR.P SUMSQ SUBTOTAL AGGREGATE " +
    "AVERAGEA MINA MAXA GEOMEAN HARMEAN TEXTJOIN CONCAT MODE MODE.SNGL"
  ).split(" "),
);
const REFERENCES = new Set(["range", "range_beam", "range_ternary"]);

/** Splits a formula at its row numbers; `problems` lists references that cannot follow the repeated rows. */
export function splitFormula(
  formula: string,
  place: FormulaPlace,
  move: RowMove | null,
): { parts: FormulaParts; changed: boolean; problems: string[] } {
  if (formula.length > MAX_FORMULA_LENGTH)
    return {
      parts: [formula],
      changed: false,
      problems: [`The formula is longer than ${MAX_FORMULA_LENGTH} characters`],
    };
  const tokens = tokenize(formula, { mergeRefs: true });
  const parts: (string | RowNumber)[] = [];
  const problems: string[] = [];
  let changed = false;
  // The function names of all open parentheses.
  const functions: string[] = [];
  tokens.forEach((token, index) => {
    if (token.value === "(") functions.push(tokens[index - 1]?.value ?? "");
    else if (token.value === ")") functions.pop();
    if (token.type === "func" && isForbiddenFunction(token.value))
      problems.push(`The function ${token.value} refers outside of the workbook`);
    if (isExternalReference(token)) problems.push(`${token.value} refers outside of the workbook`);
    const opened =
      move && REFERENCES.has(token.type)
        ? splitReference(
            token,
            place,
            move,
            isArgument(tokens, index) && AGGREGATES.has((functions.at(-1) ?? "").toUpperCase()),
            problems,
          )
        : null;
    if (opened) {
      parts.push(...opened);
      changed = true;
    } else parts.push(token.value);
  });
  return { parts, changed, problems };
}

/** Assembles the formula for the record `index` (from 0); `mark` writes row numbers that are not known yet. */
export function joinFormula(
  parts: FormulaParts,
  height: number,
  index: number,
  mark: (row: number) => string,
): string {
  return parts
    .map((part) => {
      if (typeof part === "string") return part;
      const row = part.row + (part.perRecord ? index * height : 0);
      return part.moves ? mark(row) : String(row);
    })
    .join("");
}

/** A formula outside the repeated rows after the move. */
export function moveFormula(
  formula: string,
  place: FormulaPlace,
  move: RowMove | null,
): { formula: string; changed: boolean; problems: string[] } {
  const { parts, changed, problems } = splitFormula(formula, place, move);
  if (!changed || !move) return { formula, changed: false, problems };
  const moved = joinFormula(parts, heightOf(move), 0, (row) => String(row + move.delta));
  return { formula: moved, changed: moved !== formula, problems };
}

/** A reference to another workbook (`[1]Sheet1!A1`) or a DDE call (`cmd|'/c calc'!A0`). */
function isExternalReference({ type, value }: Token): boolean {
  if (type === "string") return false;
  return value.includes("|") || (type.startsWith("range") && /\[.*!/.test(value));
}

/** Whether a token is a complete argument of a function. */
function isArgument(tokens: readonly Token[], index: number): boolean {
  const near = (from: number, step: number) => {
    let at = from;
    while (tokens[at]?.type === "whitespace") at += step;
    return at;
  };
  const before = near(index - 1, -1);
  const after = near(index + 1, 1);
  return /^[(,;]$/.test(tokens[before]?.value ?? "") && /^[),;]$/.test(tokens[after]?.value ?? "");
}

/** Null if the reference is to another sheet. */
function splitReference(
  { value }: Token,
  place: FormulaPlace,
  move: RowMove,
  lone: boolean,
  problems: string[],
): (string | RowNumber)[] | null {
  const prefix = value.slice(0, value.lastIndexOf("!") + 1);
  const reference = parseA1Ref(value, { allowTernary: true });
  if (!reference || !("range" in reference)) return null;
  const sheet =
    reference.sheetName === undefined || reference.sheetName === ""
      ? place.sheet
      : reference.sheetName;
  if (sheet.includes(":")) {
    problems.push(`${value} refers to several sheets, whose rows move differently`);
    return null;
  }
  if (sheet.toLowerCase() !== move.sheet.toLowerCase()) return null;
  const { range } = reference;
  // Whole columns do not move.
  if (range.top == null && range.bottom == null) return null;
  if (range.trim != null || range.top == null || range.bottom == null) {
    problems.push(`${value} is a kind of reference whose rows cannot be moved`);
    return null;
  }
  const isCell = !value.slice(prefix.length).includes(":");
  const rows = rowsOf(range, isCell, place, move, lone);
  if (typeof rows === "string") {
    problems.push(`${value} ${rows}`);
    return null;
  }
  const [top, bottom] = rows;
  const column = (index: number | null | undefined, fixed: unknown) =>
    index == null ? "" : `${fixed === true ? "$" : ""}${columnName(index + 1)}`;
  const start = [
    `${prefix}${column(range.left, range.$left)}${range.$top === true ? "$" : ""}`,
    top,
  ];
  if (bottom === null) return start;
  return [
    ...start,
    `:${column(range.right, range.$right)}${range.$bottom === true ? "$" : ""}`,
    bottom,
  ];
}

/** The rows of a reference, the second null for a single cell; or the reason why they cannot be determined. */
function rowsOf(
  range: Range,
  isCell: boolean,
  place: FormulaPlace,
  move: RowMove,
  lone: boolean,
): [RowNumber, RowNumber | null] | string {
  const top = (range.top ?? 0) + 1;
  const bottom = (range.bottom ?? 0) + 1;
  const fixed = (row: number): RowNumber => ({ row, perRecord: false, moves: false });
  const moved = (row: number): RowNumber => ({ ...fixed(row), moves: row < SHEET_LIMITS.rows });
  const own = (row: number): RowNumber => ({ ...fixed(row), perRecord: true });
  const topSide = sideOf(top, move);
  const bottomSide = sideOf(bottom, move);
  // A row of the formula's own record.
  const follows = (side: string, isFixed: unknown) =>
    side === "repeated" &&
    isFixed !== true &&
    place.cell !== null &&
    place.use !== "fixed" &&
    place.use !== "series";
  if (
    place.use === "spread" &&
    ((topSide !== "repeated" && range.$top !== true) ||
      (bottomSide !== "repeated" && range.$bottom !== true))
  )
    return "has a row that would differ from record to record: write it with $";
  const topRow = follows(topSide, range.$top)
    ? own(top)
    : topSide === "below"
      ? moved(top)
      : fixed(top);
  if (isCell) {
    if (topSide !== "repeated" || topRow.perRecord)
      return [isRunningTotal(range, place, move) ? own(top) : topRow, null];
    if (!lone && place.use !== "series") return [topRow, null];
    if (heightOf(move) > 1) return "refers to one of several repeated rows: refer to all of them";
    return [topRow, moved(top)];
  }
  if (follows(bottomSide, range.$bottom)) {
    if (topSide === "repeated" && !topRow.perRecord && top !== move.first)
      return "contains some of the repeated rows but not all";
    return [topRow, own(bottom)];
  }
  if (topRow.perRecord) return [topRow, bottomSide === "below" ? moved(bottom) : fixed(bottom)];
  if (isPartial(top, bottom, move)) return "contains some of the repeated rows but not all";
  return [topRow, doesBottomMove(top, bottom, move) ? moved(bottom) : fixed(bottom)];
}

/** Whether a formula refers to the same cell of the previous record without `$`, as a running total does. */
function isRunningTotal(range: Range, { cell, use }: FormulaPlace, move: RowMove): boolean {
  return (
    use === "copied" &&
    cell !== null &&
    range.$top !== true &&
    (range.top ?? 0) + 1 === cell.row - heightOf(move) &&
    (range.left ?? 0) + 1 === cell.column
  );
}
