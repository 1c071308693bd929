import { columnName, columnNumber } from "../columns.ts";

/** The row and column of a cell, both from 1. */
export interface CellPlace {
  readonly row: number;
  readonly column: number;
}

export interface CellRange {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
}

const CELL = /^\$?([A-Za-z]{1,3})\$?(\d{1,7})$/;

/** Parses `B7`; null for anything else. */
export function parseCell(text: string): CellPlace | null {
  const parts = CELL.exec(text);
  return parts ? { row: Number(parts[2]), column: columnNumber(parts[1] ?? "") } : null;
}

export function cellName({ row, column }: CellPlace): string {
  return `${columnName(column)}${row}`;
}

/** Parses `B7` or `B7:C9`; null for anything else, such as whole columns. */
export function parseRange(text: string): CellRange | null {
  const [first = "", last = first] = text.split(":");
  const from = parseCell(first);
  const to = parseCell(last);
  if (!from || !to) return null;
  return {
    top: Math.min(from.row, to.row),
    left: Math.min(from.column, to.column),
    bottom: Math.max(from.row, to.row),
    right: Math.max(from.column, to.column),
  };
}

export function rangeName({ top, left, bottom, right }: CellRange): string {
  const first = cellName({ row: top, column: left });
  const last = cellName({ row: bottom, column: right });
  return first === last ? first : `${first}:${last}`;
}
