import type { GraphQLInputType } from "graphql";
import type { SQL } from "postgraphile/pg-sql2";
import type { FieldPath } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";
import { didYouMean } from "../text/suggest.ts";

/**
 * How the values of a field are read and compared. `exact` is text compared byte for byte; `instant` a point in
 * time, `timestamp` a time without a zone, `date` a day; all three are searched in UTC.
 */
export type FieldKind =
  | "text"
  | "exact"
  | "integer"
  | "bigint"
  | "decimal"
  | "float"
  | "boolean"
  | "id"
  | "instant"
  | "timestamp"
  | "date"
  | "enum";

/** A searchable property of a row: a column, or the result of a function of the row. */
export type SearchField = {
  /** The kind of its value or, of a list, of its elements. */
  kind: FieldKind;
  /** Whether it is a list; a search matches if one value matches. */
  list: boolean;
  /** The field as SQL; `row` is the alias of the table's row. */
  read: (row: SQL) => SQL;
  /** The database's type of one value, by which those of an enumeration are cast. */
  type: SQL;
  /** Of an enumeration: the database's value for each name that the API shows. */
  values?: ReadonlyMap<string, string>;
  /** Whether words without a field search this one. */
  word: boolean;
  /** A text of the row (see `SearchTable`) that contains this one. */
  within?: (row: SQL) => SQL;
  /** Its title, where a tag gives one. */
  title?: string;
  /** Its description from the database. */
  description?: string;
  /** The type of one value as an argument in the API. */
  inputType: () => GraphQLInputType;
};

/** A relation from a row to rows of another table, or of the same. */
export type SearchRelation = {
  /** A function, because tables can refer to each other. */
  table: () => SearchTable;
  /** Whether it can have several rows; a search matches if one matches. */
  many: boolean;
  /** The join condition; both parameters are aliases, `row` that of `through` where given. */
  join: (row: SQL, related: SQL) => SQL;
  /** Its title, where a tag of its column gives one. */
  title?: string;
  /** The join table that leads to the related rows. */
  through?: JoinTable;
};

/** A table between two others, with references to both. */
export type JoinTable = {
  name: string;
  from: SQL;
  /** The join condition with the first table. */
  join: (row: SQL, joined: SQL) => SQL;
};

/** The searchable fields and relations of a table by API name. */
export type SearchTable = {
  name: string;
  from: SQL;
  /** The text of all word fields, normalised, with a separator around each. */
  words?: (row: SQL) => SQL;
  fields: ReadonlyMap<string, SearchField>;
  relations: ReadonlyMap<string, SearchRelation>;
  /** The arguments of its lists beside `query`, by name. */
  filters: ReadonlyMap<string, ListFilter>;
};

/**
 * A list argument that is a shorthand for a condition: a query text in which `$value` is the argument's value. Without
 * `$value` the argument is a boolean that turns the condition on.
 */
export type ListFilter = { condition: string };

/** How many relations one field name may cross. */
const MAX_RELATIONS = 3;

const MAX_LISTED_RELATIONS = 2;

/**
 * Resolves a dotted name to a field and the relations before it, `crossed` of which were crossed already. Throws a
 * `QuerySyntaxError` at the name, with the nearest known ones;
 * `unknownMessage` words it for another use than a search.
 */
export function resolveField(
  table: SearchTable,
  path: FieldPath,
  crossed = 0,
  unknownMessage?: (name: string) => string,
): { relations: SearchRelation[]; field: SearchField; name: string } {
  const name = path.path.join(".");
  const steps = path.path.slice(0, -1);
  const missing = () =>
    unknownMessage?.(name) ?? unknownNameMessage(name, "field", fieldNames(table));
  const { relations, at } = followRelations(table, name, steps, crossed, (reason) =>
    refuse(path, reason ?? missing()),
  );
  const last = path.path.at(-1) ?? "";
  const field = at.fields.get(last);
  const related = at.relations.get(last);
  if (!field && related) {
    const [example = "id"] = related.table().fields.keys();
    const reason = `${excerpt(name)} is a relation (name a field of it, such as \`${name}.${example}\`)`;
    return refuse(path, reason);
  }
  return { relations, field: field ?? refuse(path, missing()), name };
}

/**
 * Resolves a dotted name to relations and their last table, for the group after it. Throws a `QuerySyntaxError` at a
 * name that is not a relation.
 */
export function resolveRelation(
  table: SearchTable,
  path: FieldPath,
  crossed: number,
): { relations: SearchRelation[]; table: SearchTable } {
  const name = path.path.join(".");
  const { relations, at } = followRelations(table, name, path.path, crossed, (reason, before) => {
    const isField = before.fields.has(path.path.at(-1) ?? "");
    const problem = isField
      ? `${excerpt(name)} is no relation, so its group holds values without fields`
      : unknownNameMessage(name, "relation", relationNames(table));
    return refuse(path, reason ?? problem);
  });
  return { relations, table: at };
}

/** Follows relations by name; `fail` gets the reason, or nothing where a table lacks the next relation. */
function followRelations(
  table: SearchTable,
  name: string,
  steps: readonly string[],
  crossed: number,
  fail: (reason: string | null, at: SearchTable) => never,
): { relations: SearchRelation[]; at: SearchTable } {
  if (crossed + steps.length > MAX_RELATIONS) {
    fail(`${excerpt(name)} crosses more than ${MAX_RELATIONS} relations`, table);
  }
  const relations: SearchRelation[] = [];
  let at = table;
  for (const step of steps) {
    const relation = at.relations.get(step) ?? fail(null, at);
    relations.push(relation);
    at = relation.table();
  }
  return { relations, at };
}

function refuse({ position, end }: FieldPath, reason: string): never {
  throw new QuerySyntaxError(reason, position, end - position);
}

function unknownNameMessage(name: string, what: string, known: readonly string[]): string {
  return `${excerpt(name)} is not a ${what} that can be searched${didYouMean(name, known)}`;
}

/** The names that a misspelt one is compared with. Other rows of the same table repeat them. */
function fieldNames(table: SearchTable): string[] {
  const repeated = [...table.relations]
    .filter(([, relation]) => relation.table() === table)
    .map(([name]) => `${name}.`);
  return listFields(table)
    .map(({ name }) => name)
    .filter((name) => !repeated.some((prefix) => name.startsWith(prefix)));
}

/** The relations of the listed fields. */
function relationNames(table: SearchTable): string[] {
  const names = listFields(table).flatMap(({ name }) => {
    const steps = name.split(".").slice(0, -1);
    return steps.map((_step, index) => steps.slice(0, index + 1).join("."));
  });
  return [...new Set(names)];
}

/** A field with its full name, for documentation; `toMany` when several related rows are possible. */
export type ListedField = { name: string; field: SearchField; toMany: boolean };

/** The fields of a table and those up to two relations away, without cycles but one step to other rows of the same table. */
export function listFields(table: SearchTable): ListedField[] {
  return listFieldsWithRelations(table, "", false, [table]);
}

const ownFields = (table: SearchTable, prefix: string, toMany: boolean): ListedField[] =>
  [...table.fields].map(([name, field]) => ({ name: prefix + name, field, toMany }));

function listFieldsWithRelations(
  table: SearchTable,
  prefix: string,
  toMany: boolean,
  passed: readonly SearchTable[],
): ListedField[] {
  const own = ownFields(table, prefix, toMany);
  if (passed.length > MAX_LISTED_RELATIONS) return own;
  const related = [...table.relations].flatMap(([name, relation]) => {
    const other = relation.table();
    // Such as `parent.name` of warehouses within warehouses.
    if (other === table && passed.length === 1)
      return ownFields(table, `${prefix}${name}.`, toMany || relation.many);
    if (passed.includes(other)) return [];
    return listFieldsWithRelations(other, `${prefix}${name}.`, toMany || relation.many, [
      ...passed,
      other,
    ]);
  });
  return [...own, ...related];
}

/** The fields that words without a field search, by name. */
export function wordFields(table: SearchTable): ListedField[] {
  return [...table.fields]
    .filter(([, field]) => field.word)
    .map(([name, field]) => ({ name, field, toMany: false }));
}
