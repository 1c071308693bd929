import { cellName, rangeName } from "./a1.ts";
import { mergedCells } from "./mergedCells.ts";
import type { ProblemList } from "./problems.ts";
import type { SheetCell, SheetModel } from "./sheetModel.ts";

/** The rows of a table template that are repeated: those with placeholders, and those merged with them. */
export function repeatedRows(
  filled: ReadonlyMap<SheetModel, readonly SheetCell[]>,
  problems: ProblemList,
): { model: SheetModel; first: number; last: number } | null {
  const [entry, second] = filled;
  if (!entry) return null;
  const [model, cells] = entry;
  if (second) {
    const [other, [cell]] = second;
    problems.add(
      other.name,
      cell ? cellName(cell) : null,
      `The repeated rows must be on one sheet, but ${model.name} also has placeholders`,
    );
    return null;
  }
  const merged = mergedCells(cells, model.merges);
  const spans = cells
    .map((cell) => ({ cell, top: cell.row, bottom: merged.get(cell)?.bottom ?? cell.row }))
    .sort((a, b) => a.top - b.top);
  const first = spans[0]?.top ?? 1;
  let last = first;
  for (const { cell, top, bottom } of spans) {
    if (top > last + 1) {
      problems.add(
        model.name,
        cellName(cell),
        `Only one block of rows can repeat, and rows ${first} to ${last} are one: rows ${last + 1} to ${top - 1} between have no placeholder`,
      );
      return null;
    }
    last = Math.max(last, bottom);
  }
  for (const merge of model.merges) {
    const touches = merge.bottom >= first && merge.top <= last;
    const isInside = merge.top >= first && merge.bottom <= last;
    const surrounds = merge.top < first && merge.bottom >= last;
    if (touches && !isInside && !surrounds) {
      problems.add(
        model.name,
        rangeName(merge),
        `A merged range reaches out of the repeated rows (${first} to ${last})`,
      );
      return null;
    }
  }
  return { model, first, last };
}
