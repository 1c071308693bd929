import type { JsonObject } from "./problem.ts";

/** Returns a document with the included fields (all, if `include` is empty), without the excluded ones. */
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
