// What the query `console` says of a table. The server writes it and the console reads it, so both use these types.

/** A table, apart from what the caller may do with it. */
export interface EntityDescription {
  /** As addresses and `searchFields` name it, such as `products`. */
  name: string;
  typeName: string;
  title: string;
  titleOne: string;
  description: string | null;
  group: string | null;
  icon: string | null;
  /** The field that identifies a row: `id`, or a key of one column; null where there is none. */
  keyField: string | null;
  nameField: string;
  detailField: string | null;
  colorField: string | null;
  /** The field that only the response of the create mutation contains, such as the address of a calendar feed. */
  secretField: string | null;
  /** The root field of the list; null where the rows are only available below others: see `parents`. */
  listField: string | null;
  /** The connection with `query`, `offset` and a count; null as `listField`. */
  pagesField: string | null;
  recordField: string | null;
  defaultOrder: string[];
  hasHistory: boolean;
  fields: EntityField[];
  relations: EntityRelation[];
  /** Where the rows are found when they have no list at the root. */
  parents: EntityParent[];
  actions: EntityAction[];
}

export type FieldKind =
  | "TEXT"
  | "INTEGER"
  | "DECIMAL"
  | "FLOAT"
  | "BOOLEAN"
  | "DATE"
  | "TIME"
  | "CLOCK"
  | "ENUM"
  | "REFERENCE"
  | "JSON";

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
  /** What a new row gets where no value is given, as text; null where there is none or it is computed. */
  defaultValue: string | null;
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

/** The table that a field such as `wineTypeId` refers to, and the field of the same row that holds the other row. */
export interface EntityReference {
  entity: string;
  field: string | null;
  /** The field of the other row that the reference holds. */
  keyField: string;
  nameField: string;
  /** The field that tells two of the same name apart, and names one without a name. */
  detailField: string | null;
  colorField: string | null;
}

/** Rows of another table that refer to a row of this one. */
export interface EntityRelation {
  field: string;
  title: string;
  entity: string;
  /** The field of the other table, as its query language names it, that holds the id. */
  by: string;
}

/** A field of another table's rows that holds the rows of this one, such as `prices` of products. */
export interface EntityParent {
  entity: string;
  field: string;
  /** Whether the field is a connection with pages and a count; else it is a list with all rows. */
  isConnection: boolean;
  /** The field of this table that holds the id of the other row. */
  by: string;
}

/** A mutation of one row that is neither its creation, its change nor its deletion, such as `activateUser`. */
export interface EntityAction {
  field: string;
  /** The argument that takes the id of the row. */
  argument: string;
  title: string;
  description: string;
  /** Whether people are asked before it is carried out. */
  isHarmful: boolean;
  /** The field that must be true for the action to make sense. */
  onlyIf: string | null;
  /** The field that must be false for it. */
  unless: string | null;
}
