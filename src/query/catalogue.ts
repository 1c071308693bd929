import type { SQL } from "postgraphile/pg-sql2";
import type { FieldPath } from "./ast.ts";
import { QuerySyntaxError } from "./QuerySyntaxError.ts";
import { excerpt } from "./excerpt.ts";
import { didYouMean } from "./suggest.ts";

/**
 * How the values of a field are read and compared. `exact` is text compared byte for byte; `instant` a point in
 * time, `date` a day or a time without a zone, both searched in UTC.
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
  | "date"
  | "enum";

/** Something of a row that can be searched: a column, or what a function computes from the row. */
export type SearchField = {
  /** The kind of its value or, of a list, of its elements. */
  kind: FieldKind;
  /** Whether it holds any number of values; a search asks whether one of them is meant. */
  list: boolean;
  /** The field as SQL; `row` is the alias of the table's row. */
  read: (row: SQL) => SQL;
  /** The database's type of one value, by which those of an enumeration are cast. */
  type: SQL;
  /** Of an enumeration: the database's value for each name that the API shows. */
  values?: ReadonlyMap<string, string>;
  /** Whether words without a field search this one. */
  word: boolean;
};

/** A way from a row to the rows of another table (or of the same). */
export type SearchRelation = {
  /** Read late, because tables can point at each other. */
  table: () => SearchTable;
  /** Whether there can be several related rows; a search asks whether one of them matches. */
  many: boolean;
  /** The condition that ties a row to a related one; both parameters are aliases. */
  join: (row: SQL, related: SQL) => SQL;
};

/** What can be searched of one table. Fields and relations go by their names in the API. */
export type SearchTable = {
  name: string;
  from: SQL;
  fields: ReadonlyMap<string, SearchField>;
  relations: ReadonlyMap<string, SearchRelation>;
};

/** How many relations one field name may cross. */
export const MAX_RELATIONS = 3;

const LISTED_RELATIONS = 2;

/**
 * Finds the field that a dotted name leads to, and the relations on the way. Throws a `QuerySyntaxError` at the name,
 * with the nearest known ones, when there is none.
 */
export function resolveField(
  table: SearchTable,
  { path, position, end }: FieldPath,
): { relations: SearchRelation[]; field: SearchField; name: string } {
  const name = path.join(".");
  const refuse = (reason: string): never => {
    throw new QuerySyntaxError(reason, position, end - position);
  };
  if (path.length > MAX_RELATIONS + 1) {
    refuse(`${excerpt(name)} crosses more than ${MAX_RELATIONS} relations`);
  }
  const relations: SearchRelation[] = [];
  let at = table;
  for (const step of path.slice(0, -1)) {
    const relation = at.relations.get(step) ?? refuse(unknown(name, table));
    relations.push(relation);
    at = relation.table();
  }
  const last = path.at(-1) ?? "";
  const related = at.relations.get(last);
  if (related && !at.fields.has(last)) {
    const [example = "id"] = related.table().fields.keys();
    refuse(`${excerpt(name)} is a relation (name a field of it, such as \`${name}.${example}\`)`);
  }
  return { relations, field: at.fields.get(last) ?? refuse(unknown(name, table)), name };
}

function unknown(name: string, table: SearchTable): string {
  const known = listFields(table).map((field) => field.name);
  return `${excerpt(name)} is not a field that can be searched${didYouMean(name, known)}`;
}

/** A field under its full name, for lists of what can be searched. */
export type ListedField = { name: string; field: SearchField };

/** The fields of a table and those up to two relations away, none through a table that was passed already. */
export function listFields(table: SearchTable): ListedField[] {
  return listBelow(table, "", [table]);
}

function listBelow(
  table: SearchTable,
  prefix: string,
  passed: readonly SearchTable[],
): ListedField[] {
  const own = [...table.fields].map(([name, field]) => ({ name: prefix + name, field }));
  if (passed.length > LISTED_RELATIONS) return own;
  const related = [...table.relations].flatMap(([name, relation]) => {
    const other = relation.table();
    return passed.includes(other) ? [] : listBelow(other, `${prefix}${name}.`, [...passed, other]);
  });
  return [...own, ...related];
}

/** The fields that words without a field search, by name. */
export function wordFields(table: SearchTable): ListedField[] {
  return [...table.fields]
    .filter(([, field]) => field.word)
    .map(([name, field]) => ({ name, field }));
}
