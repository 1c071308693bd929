import { createContext, use } from "react";
import type { Entities } from "./entities.ts";

export const EntitiesContext = createContext<Entities | null>(null);

/** The caller's metadata. */
export function useEntities(): Entities {
  const entities = use(EntitiesContext);
  if (!entities) throw new Error("useEntities needs an EntitiesContext above it");
  return entities;
}
