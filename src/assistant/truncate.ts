/** The maximum length of a tool's result as JSON. */
const maxResultCharacters = 24_000;
const maxTextCharacters = 2_000;

/** Shortens a tool's result to the limit: truncates long strings and lists, and says so in the result. */
export function truncateResult(result: Record<string, unknown>): Record<string, unknown> {
  let items = 200;
  for (;;) {
    const state = { cut: false };
    const bounded = truncate(result, items, state) as Record<string, unknown>;
    const fits = JSON.stringify(bounded).length <= maxResultCharacters;
    if (fits || items === 1) {
      const note = state.cut
        ? { note: "Cut to what fits: ask for less at a time, or page on, to see the rest." }
        : {};
      return fits ? { ...bounded, ...note } : { error: "The result is too long: ask for less." };
    }
    items = Math.floor(items / 2);
  }
}

function truncate(value: unknown, items: number, state: { cut: boolean }): unknown {
  if (typeof value === "string") {
    if (value.length <= maxTextCharacters) return value;
    state.cut = true;
    return `${value.slice(0, maxTextCharacters).toWellFormed()}…`;
  }
  if (Array.isArray(value)) {
    if (value.length > items) state.cut = true;
    return value.slice(0, items).map((item) => truncate(item, items, state));
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, truncate(item, items, state)]),
  );
}

/** The first fifty ids in a result. */
export function collectIds(value: unknown, found = new Set<string>()): string[] {
  if (found.size >= 50 || typeof value !== "object" || value === null) return [...found];
  for (const [key, item] of Object.entries(value)) {
    if (key === "id" && typeof item === "string" && found.size < 50) found.add(item);
    else collectIds(item, found);
  }
  return [...found];
}
