import type { JsonObject } from "./problem.ts";

/** The document with the included fields (all, when none is named) but for the excluded ones. */
export function pickFields(
  document: JsonObject,
  include: readonly string[],
  exclude: readonly string[],
): JsonObject {
  if (include.length === 0 && exclude.length === 0) return document;
  const kept = Object.entries(document).filter(
    ([name]) => (include.length === 0 || include.includes(name)) && !exclude.includes(name),
  );
  return Object.fromEntries(kept);
}
