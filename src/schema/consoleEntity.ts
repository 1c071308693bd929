import type { Guard } from "../auth/guards.ts";
import type { EntityAction, EntityDescription, EntityField } from "./entityDescription.ts";

/** A table with the guards of its reads, mutations and actions. */
export interface CatalogueEntity extends EntityDescription {
  guard: Guard;
  fields: CatalogueField[];
  mutations: Record<Verb, CatalogueMutation | null>;
  actions: CatalogueAction[];
}

/** A field, with the guard of the rows that it shows if that guard is stricter than the table's. */
export type CatalogueField = EntityField & { guard?: Guard };

export type CatalogueAction = EntityAction & { guard: Guard };

export type Verb = "create" | "update" | "delete";

export interface CatalogueMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  guard: Guard;
  description: string;
}
