import { GraphQLString } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { FieldKind, SearchField, SearchTable } from "../../../src/query/searchTable.ts";

function column(kind: FieldKind, name: string, more: Partial<SearchField> = {}): SearchField {
  return {
    kind,
    list: false,
    type: sql`${sql.identifier(kind)}`,
    word: false,
    inputType: () => GraphQLString,
    read: (row: SQL) => sql`${row}.${sql.identifier(name)}`,
    ...more,
  };
}

const reviewers: SearchTable = {
  name: "reviewers",
  from: sql`reviewers`,
  fields: new Map([["name", column("text", "name")]]),
  relations: new Map([
    ["ratings", { table: () => ratings, many: true, join: by("reviewer_id", "id") }],
  ]),
  filters: new Map(),
};

const ratings: SearchTable = {
  name: "ratings",
  from: sql`ratings`,
  fields: new Map([["points", column("decimal", "points")]]),
  relations: new Map([
    ["reviewer", { table: () => reviewers, many: false, join: by("id", "reviewer_id") }],
  ]),
  filters: new Map(),
};

/** A table with a field of each kind and relations in both directions. */
export const wines: SearchTable = {
  name: "wines",
  from: sql`wines`,
  fields: new Map([
    ["id", column("id", "id")],
    ["number", column("exact", "number")],
    ["name", column("text", "name", { word: true })],
    ["producer", column("text", "producer", { word: true })],
    ["country", column("text", "country")],
    ["vintage", column("integer", "vintage")],
    ["sold", column("bigint", "sold")],
    ["alcohol", column("decimal", "alcohol")],
    ["weight", column("float", "weight")],
    ["isActive", column("boolean", "is_active")],
    ["createdAt", column("instant", "created_at")],
    ["bottledOn", column("date", "bottled_on")],
    ["grapes", column("text", "grapes", { list: true })],
    ["medals", column("exact", "medals", { list: true })],
    ["scores", column("integer", "scores", { list: true })],
    ["tastedOn", column("date", "tasted_on", { list: true })],
    ["color", column("enum", "color", { values: new Map([["RED", "red"]]) })],
  ]),
  relations: new Map([
    ["ratings", { table: () => ratings, many: true, join: by("wine_id", "id") }],
  ]),
  filters: new Map(),
};

function by(remote: string, local: string) {
  return (row: SQL, related: SQL) =>
    sql`${related}.${sql.identifier(remote)} = ${row}.${sql.identifier(local)}`;
}
