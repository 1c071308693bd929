/** The rows around the one that was opened from a list, in the list's order. */
let opened: { entity: string; ids: readonly string[] } | null = null;

/** Rows kept before and after those in sight. */
export const neighbours = 50;

export function rememberNeighbours(entity: string, ids: readonly string[]): void {
  opened = { entity, ids };
}

/** The row `step` places after the row `id` in the list from which it was opened; undefined where nothing is known. */
export function neighbourOf(entity: string, id: string, step: number): string | undefined {
  if (opened?.entity !== entity) return undefined;
  const index = opened.ids.indexOf(id);
  return index < 0 ? undefined : opened.ids[index + step];
}
