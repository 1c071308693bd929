import { SHEET_LIMITS } from "../limits.ts";

/** The repeated rows of a sheet, and the distance by which the rows below them move. */
export interface RowMove {
  readonly sheet: string;
  /** The first and last repeated row, from 1. */
  readonly first: number;
  readonly last: number;
  /** The distance in rows; 0 for one record. */
  readonly delta: number;
}

/** The number of rows per record. */
export function heightOf({ first, last }: RowMove): number {
  return last - first + 1;
}

/** The new position of a row; the repeated rows stay, as those of the first record. */
export function moveRow(row: number, move: RowMove): number {
  return row > move.last ? row + move.delta : row;
}

/** The position of a row relative to the repeated rows. */
export function sideOf(row: number, { first, last }: RowMove): "above" | "repeated" | "below" {
  return row < first ? "above" : row > last ? "below" : "repeated";
}

/**
 * Whether the last row of a range moves: when it is below the repeated rows, or when the range contains all of them and
 * so grows. A range to the last row of the sheet does not change.
 */
export function doesBottomMove(top: number, bottom: number, move: RowMove): boolean {
  if (bottom >= SHEET_LIMITS.rows) return false;
  return bottom > move.last || (bottom === move.last && top <= move.first);
}

/** Whether a range contains some but not all of the repeated rows, so that its new extent is ambiguous. */
export function isPartial(top: number, bottom: number, move: RowMove): boolean {
  if (bottom < move.first || top > move.last) return false;
  return top > move.first || bottom < move.last;
}

/** A range after the move. */
export function moveRows(
  top: number,
  bottom: number,
  move: RowMove,
): { top: number; bottom: number } {
  return {
    top: moveRow(top, move),
    bottom: doesBottomMove(top, bottom, move) ? bottom + move.delta : bottom,
  };
}
