/** The rows near the one that was opened from a list, in the list's order. */
let opened: { entity: string; ids: readonly string[] } | null = null;

/** The number of rows stored before and after the visible ones. */
export const neighbourCount = 50;

export function rememberNeighbours(entity: string, ids: readonly string[]): void {
  opened = { entity, ids };
}

/** The id of the row `step` places after the row `id` in the list from which it was opened; undefined when unknown. */
export function neighbourOf(entity: string, id: string, step: number): string | undefined {
  if (opened?.entity !== entity) return undefined;
  const index = opened.ids.indexOf(id);
  return index < 0 ? undefined : opened.ids[index + step];
}
