/** The answer of the `console` query: what there is, what it is called, and what the caller may do. */
export interface Catalogue {
  version: string;
  title: string;
  me: Me;
  entities: Entity[];
  closedEntities: ClosedEntity[];
}

/** A table that the caller may not read. */
export interface ClosedEntity {
  name: string;
  title: string;
  permission: string | null;
}

export interface Me {
  user: { id: string; name: string | null; email: string; avatarUrl: string | null };
  permissions: string[];
}

/** A table that the caller may read. */
export interface Entity {
  /** As addresses and `searchFields` name it, such as `products`. */
  name: string;
  typeName: string;
  title: string;
  titleOne: string;
  description: string | null;
  group: string | null;
  icon: string | null;
  /** The field that identifies a row: `id`, or a key. */
  keyField: string;
  nameField: string;
  detailField: string | null;
  colorField: string | null;
  listField: string;
  /** The connection with `query`, `offset` and a count. */
  pagesField: string;
  recordField: string | null;
  defaultOrder: string[];
  canCreate: EntityMutation | null;
  canUpdate: EntityMutation | null;
  canDelete: EntityMutation | null;
  hasHistory: boolean;
  missing: MissingPermission[];
  fields: EntityField[];
  relations: EntityRelation[];
}

export interface EntityMutation {
  field: string;
  inputType: string | null;
  takesVersion: boolean;
}

export interface MissingPermission {
  verb: string;
  permission: string | null;
  description: string;
}

export type FieldKind =
  "TEXT" | "INTEGER" | "DECIMAL" | "BOOLEAN" | "DATE" | "TIME" | "ENUM" | "REFERENCE" | "JSON";

export type FieldUse = "NO" | "OPTIONAL" | "REQUIRED";

export interface EntityField {
  name: string;
  title: string;
  description: string | null;
  kind: FieldKind;
  widget: string | null;
  unit: string | null;
  values: EntityValue[];
  reference: EntityReference | null;
  isList: boolean;
  isNullable: boolean;
  /** Only mutations have it; rows do not. */
  isInputOnly: boolean;
  onCreate: FieldUse;
  onUpdate: FieldUse;
  maxLength: number | null;
  orderBy: string[];
  searchName: string | null;
  /** Its place in lists: 0 hides it, null leaves it to the console. */
  place: number | null;
  section: string | null;
}

export interface EntityValue {
  value: string;
  title: string;
  tone: string | null;
}

/** What a field such as `wineTypeId` refers to: the field `wineType` of the same row, of the entity `wineTypes`. */
export interface EntityReference {
  entity: string;
  field: string | null;
  nameField: string;
  colorField: string | null;
}

/** Rows of another table that refer to a row of this one. */
export interface EntityRelation {
  field: string;
  title: string;
  entity: string;
  /** The field of the other table, as its query language names it, such as `supplier.id`. */
  by: string;
}

/** The catalogue with quick access by name. */
export class Entities {
  readonly catalogue: Catalogue;
  readonly #byName: Map<string, Entity>;

  constructor(catalogue: Catalogue) {
    this.catalogue = catalogue;
    this.#byName = new Map(catalogue.entities.map((entity) => [entity.name, entity]));
  }

  /** The table `name`, when the caller may not read it. */
  closed(name: string): ClosedEntity | undefined {
    return this.catalogue.closedEntities.find((entity) => entity.name === name);
  }

  get(name: string): Entity | undefined {
    return this.#byName.get(name);
  }
}

export function fieldOf(entity: Entity, name: string): EntityField | undefined {
  return entity.fields.find((field) => field.name === name);
}

/** The fields that a list shows when nobody has chosen others. */
export function defaultColumns(entity: Entity): EntityField[] {
  const shown = entity.fields.filter((field) => field.place !== 0 && isColumn(field));
  const placed = shown
    .filter((field) => field.place !== null)
    .toSorted((a, b) => (a.place ?? 0) - (b.place ?? 0));
  if (placed.length > 0) return placed;
  const name = fieldOf(entity, entity.nameField);
  const others = shown.filter((field) => field !== name);
  return [...(name ? [name] : []), ...others].slice(0, 8);
}

/** Whether a list can show the field in one line. */
export function isColumn(field: EntityField): boolean {
  return field.kind !== "JSON" && !field.isList && !field.isInputOnly;
}
