// The description of a table in the query `console`. The server and the console share these types.

/** A table, without the caller's permissions. */
export interface EntityDescription {
  /** The name in URLs and for `searchFields`, such as `products`. */
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
  /** The root field of the list; null when rows are available only through their `parents`. */
  listField: string | null;
  /** The connection with `query`, `offset` and a count; null whenever `listField` is. */
  pagesField: string | null;
  recordField: string | null;
  defaultOrder: string[];
  /** The query with which the console opens the list; null for all rows. */
  defaultQuery: string | null;
  hasHistory: boolean;
  /** The field with the user who alone may read the history of the row; null if the caller may read that of all rows. */
  historyOwnerField: string | null;
  fields: EntityField[];
  relations: EntityRelation[];
  /** The fields of other tables that return the rows, for tables without a root list. */
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
  /** The unit of the number 1. */
  unitOne: string | null;
  /** The field of the same row that holds the currency of an amount; null without one. */
  currencyField: string | null;
  values: EntityValue[];
  reference: EntityReference | null;
  isList: boolean;
  isNullable: boolean;
  /** Whether only inputs of mutations have the field, not rows. */
  isInputOnly: boolean;
  onCreate: FieldUse;
  onUpdate: FieldUse;
  maxLength: number | null;
  /** The bounds of a number as text, because they can exceed a JavaScript number; null without bounds. */
  minimum: string | null;
  maximum: string | null;
  /** The number of decimal places of a `DECIMAL`; null if it is not fixed. */
  decimals: number | null;
  /** The constant default as text; null if there is none or it is computed. */
  defaultValue: string | null;
  orderBy: string[];
  searchName: string | null;
  /** The position in lists: 0 hides the field, null lets the console decide. */
  place: number | null;
  section: string | null;
}

export interface EntityValue {
  value: string;
  title: string;
  tone: string | null;
}

/** The table that a field such as `wineTypeId` refers to, and the field of the same type that returns the other row. */
export interface EntityReference {
  entity: string;
  /** The title of one row of the other table, which names rows without a label. */
  titleOne: string;
  field: string | null;
  /** The field of the other row whose value the reference stores. */
  keyField: string;
  nameField: string;
  /** The field that distinguishes rows with the same name, and replaces a missing name. */
  detailField: string | null;
  colorField: string | null;
  /** The search that a row must match to be offered in a form; null for all rows. */
  choices: string | null;
}

/** Rows of another table that refer to a row of this one. */
export interface EntityRelation {
  field: string;
  title: string;
  entity: string;
  /** The field of the other table that stores the id, as named in queries. */
  by: string;
}

/** What a field with rows of another table returns: the only row or null, all rows, or a connection with pages and a count. */
export type RelationShape = "ROW" | "LIST" | "CONNECTION";

/** A field of another table that returns rows of this one, such as `prices` of products. */
export interface EntityParent {
  entity: string;
  field: string;
  shape: RelationShape;
  /** The field of this table that stores the id of the other row. */
  by: string;
}

/** A mutation other than create, update and delete, of one row, such as `activateUser`, or of a list, such as `enterAbsence`. */
export interface EntityAction {
  field: string;
  /** The argument that takes the id of the row; null for an action that is not about an existing row. */
  argument: string | null;
  /** Whether the mutation has the argument `ifVersion`. */
  takesVersion: boolean;
  title: string;
  description: string;
  /** Whether the user must confirm the action. */
  isHarmful: boolean;
  /** The field that must be true, or not empty, for the action to be offered. */
  onlyIf: string | null;
  /** The field that must be false or empty for the action to be offered. */
  unless: string | null;
  /** The other arguments, in the order of the form. */
  arguments: ConsoleArgument[];
  /** Boolean arguments to pass as true. */
  flags: string[];
  /** Whether the mutation returns a plain value, such as a count; GraphQL has no selection for it. */
  returnsValue: boolean;
  /** The fields of a result that is no row of a list, such as the counts of `handOver`. */
  resultFields: EntityField[];
  /** The field of the result with a secret that is shown once, such as `token` of `createUserApiToken`. */
  secretField: string | null;
}

/** A query that the console shows on a separate page with a form for its arguments, such as `freeResources`. */
export interface ReportDescription {
  /** The field of `Query`, which is also the name in URLs. */
  field: string;
  /** The type of its rows, such as `Session`. */
  typeName: string;
  title: string;
  description: string | null;
  group: string | null;
  icon: string | null;
  arguments: ConsoleArgument[];
  /** The table whose rows it returns; null if `fields` describes the rows. */
  entity: string | null;
  fields: EntityField[];
  /** The actions above the rows, and those of rows that belong to no table. */
  actions: EntityAction[];
}

/** An argument of an action, a report or a mutation of a row. */
export interface ConsoleArgument {
  name: string;
  /** Its GraphQL type, such as `String` or `EnterAbsenceInput!`. */
  type: string;
  /** Whether the argument is an object of `fields`; otherwise `fields` describes the argument itself. */
  isObject: boolean;
  fields: EntityField[];
}
