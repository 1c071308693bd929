import type { Guard } from "../auth/guards.ts";

/** A table as the `console` query describes it, before it is filtered for a caller. */
export interface CatalogueEntity {
  name: string;
  typeName: string;
  title: string;
  titleOne: string;
  description: string | null;
  group: string | null;
  icon: string | null;
  keyField: string;
  nameField: string;
  detailField: string | null;
  colorField: string | null;
  listField: string;
  pagesField: string;
  recordField: string | null;
  defaultOrder: string[];
  guard: Guard;
  mutations: Record<Verb, CatalogueMutation | null>;
  hasHistory: boolean;
  fields: CatalogueField[];
  relations: CatalogueRelation[];
}

export type Verb = "create" | "update" | "delete";

export interface CatalogueMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
  guard: Guard;
  description: string;
}

export interface CatalogueField {
  name: string;
  title: string;
  description: string | null;
  kind: FieldKind;
  widget: string | null;
  unit: string | null;
  values: { value: string; title: string; tone: string | null }[];
  reference: CatalogueReference | null;
  isList: boolean;
  isNullable: boolean;
  isInputOnly: boolean;
  onCreate: FieldUse;
  onUpdate: FieldUse;
  maxLength: number | null;
  orderBy: string[];
  searchName: string | null;
  place: number | null;
  section: string | null;
}

export type FieldKind =
  "TEXT" | "INTEGER" | "DECIMAL" | "BOOLEAN" | "DATE" | "TIME" | "ENUM" | "REFERENCE" | "JSON";

export type FieldUse = "NO" | "OPTIONAL" | "REQUIRED";

export interface CatalogueReference {
  entity: string;
  field: string | null;
  nameField: string;
  colorField: string | null;
}

export interface CatalogueRelation {
  field: string;
  title: string;
  entity: string;
  by: string;
}
