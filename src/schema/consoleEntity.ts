import type { Guard } from "../auth/guards.ts";
import type { EntityDescription } from "./entityDescription.ts";

/** A table with the guards of what can be done with it. */
export interface CatalogueEntity extends EntityDescription {
  guard: Guard;
  mutations: Record<Verb, CatalogueMutation | null>;
}

export type Verb = "create" | "update" | "delete";

export interface CatalogueMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  guard: Guard;
  description: string;
}
