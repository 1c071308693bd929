import { SHEET_LIMITS } from "../limits.ts";
import type { CellPlace, CellRange } from "./a1.ts";

/** A cell within a merged range. */
export interface MergedCell {
  /** The last row of the range. */
  readonly bottom: number;
  /** Whether the cell is the first of the range, whose content is shown. */
  readonly isFirst: boolean;
}

const WIDTH = SHEET_LIMITS.columns;

/**
 * Finds the merged ranges of cells; cells outside of all ranges are omitted. Rows are visited in order, and a segment
 * tree over the columns stores the lowest merged row, so the cost is that of sorting.
 */
export function mergedCells<Cell extends CellPlace>(
  cells: readonly Cell[],
  merges: readonly CellRange[],
): Map<Cell, MergedCell> {
  const found = new Map<Cell, MergedCell>();
  if (merges.length === 0) return found;
  const firsts = new Set(merges.map(({ top, left }) => top * WIDTH + left));
  const ranges = merges.toSorted((a, b) => a.top - b.top);
  // The leaves are the columns, from WIDTH on; a range is stored in the nodes that cover it.
  const bottoms = new Int32Array(2 * WIDTH);
  const enter = ({ left, right, bottom }: CellRange) => {
    let from = left - 1 + WIDTH;
    let to = right + WIDTH;
    for (; from < to; from >>= 1, to >>= 1) {
      if (from & 1) bottoms[from] = Math.max(bottoms[from++] ?? 0, bottom);
      if (to & 1) bottoms[--to] = Math.max(bottoms[to] ?? 0, bottom);
    }
  };
  let next = 0;
  for (const cell of cells.toSorted((a, b) => a.row - b.row)) {
    for (let range = ranges[next]; range && range.top <= cell.row; range = ranges[++next])
      enter(range);
    let bottom = 0;
    for (let node = cell.column - 1 + WIDTH; node > 0; node >>= 1)
      bottom = Math.max(bottom, bottoms[node] ?? 0);
    if (bottom >= cell.row)
      found.set(cell, { bottom, isFirst: firsts.has(cell.row * WIDTH + cell.column) });
  }
  return found;
}
