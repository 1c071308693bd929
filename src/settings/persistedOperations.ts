import { resolve } from "node:path";
import { z } from "zod";
import type { GetSetting } from "./types.ts";

/** Persisted GraphQL documents, and whether others are executed. */
export const persistedOperationSettings = {
  PERSISTED_OPERATIONS: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning:
      "file or folder with the GraphQL documents of front ends, which may then send a SHA-256 hash instead: `.graphql` files of one document each, `.json` files of documents by hash",
  },
  PERSISTED_OPERATIONS_MODE: {
    schema: z.enum(["off", "allow", "only"], { error: "must be off, allow or only" }),
    fallback: "allow",
    meaning:
      "`allow` executes other documents as well, `only` refuses them, `off` ignores PERSISTED_OPERATIONS",
  },
} as const;

export function persistedOperationsConfig(get: GetSetting<typeof persistedOperationSettings>) {
  const place = get("PERSISTED_OPERATIONS");
  const mode = get("PERSISTED_OPERATIONS_MODE");
  return { place: place === undefined ? undefined : resolve(place), mode };
}

/** Without documents, `only` would refuse every request. */
export function persistedOperationsProblems({
  place,
  mode,
}: ReturnType<typeof persistedOperationsConfig>): string[] {
  return mode === "only" && place === undefined
    ? ["PERSISTED_OPERATIONS is required with PERSISTED_OPERATIONS_MODE=only"]
    : [];
}
