import { SHEET_LIMITS } from "../limits.ts";

/** The rows of a sheet that are repeated, and how far that moves what stands below them. */
export interface RowMove {
  readonly sheet: string;
  /** The first and the last of the repeated rows, from 1. */
  readonly first: number;
  readonly last: number;
  /** Rows; 0 as long as there is one record. */
  readonly delta: number;
}

/** How many rows repeat together. */
export function heightOf({ first, last }: RowMove): number {
  return last - first + 1;
}

/** Where a single row goes; the repeated ones stay, as those of the first record. */
export function moveRow(row: number, move: RowMove): number {
  return row > move.last ? row + move.delta : row;
}

/** Which of three places a row has. */
export function sideOf(row: number, { first, last }: RowMove): "above" | "repeated" | "below" {
  return row < first ? "above" : row > last ? "below" : "repeated";
}

/**
 * Whether the last row of a range moves along: it stands below the repeated rows or takes them all in, so that the range grows with
 * them. A range to the very last row of a sheet stays as it is.
 */
export function bottomMoves(top: number, bottom: number, move: RowMove): boolean {
  if (bottom >= SHEET_LIMITS.rows) return false;
  return bottom > move.last || (bottom === move.last && top <= move.first);
}

/** Whether a range holds some of the repeated rows, but not all: what it should become cannot be said. */
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
    bottom: bottomMoves(top, bottom, move) ? bottom + move.delta : bottom,
  };
}
