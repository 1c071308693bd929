/**
 * The number of edits (a letter inserted, deleted or replaced, or two neighbours swapped) from `query` to `word`,
 * or with `prefix` to the closest prefix of `word`. More than `limit` is returned as `limit + 1`.
 */
export function countTypos(query: string, word: string, limit: number, prefix: boolean): number {
  const columns = prefix ? Math.min(word.length, query.length + limit) : word.length;
  if (query.length - columns > limit || (!prefix && columns - query.length > limit))
    return limit + 1;
  let before: number[] = [];
  let above: number[] = [];
  let row = Array.from({ length: columns + 1 }, (_, column) => column);
  for (let i = 1; i <= query.length; i++) {
    const letter = query.charCodeAt(i - 1);
    const reused = before;
    before = above;
    above = row;
    row = reused;
    row[0] = i;
    let least = i;
    for (let j = 1; j <= columns; j++) {
      const same = letter === word.charCodeAt(j - 1);
      let cost = Math.min(at(above, j) + 1, at(row, j - 1) + 1, at(above, j - 1) + (same ? 0 : 1));
      const swapped =
        i > 1 &&
        j > 1 &&
        letter === word.charCodeAt(j - 2) &&
        query.charCodeAt(i - 2) === word.charCodeAt(j - 1);
      if (swapped) cost = Math.min(cost, at(before, j - 2) + 1);
      row[j] = cost;
      if (cost < least) least = cost;
    }
    // A swap refers to the row before the last one, so both rows must exceed the limit.
    if (least > limit && Math.min(...above.slice(0, columns + 1)) >= limit) return limit + 1;
  }
  const distance = prefix ? Math.min(...row.slice(0, columns + 1)) : at(row, columns);
  return Math.min(distance, limit + 1);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
