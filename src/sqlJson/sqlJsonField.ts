import type { PgCodec, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Bindable, BindNth } from "../query/bind.ts";
import type { SearchTable } from "../query/searchTable.ts";
import type { Table } from "../schema/labels.ts";
import { hasPages } from "../schema/listedTables.ts";
import { isView, lookUpKey } from "../schema/lookUpKey.ts";
import { hasSummary, versionSql } from "../schema/rowVersion.ts";
import {
  type Text,
  errorIfIncomplete,
  hasUnencodableValues,
  jsonEncoderOf,
  nullIfIncomplete,
} from "./jsonText.ts";
import { type RowCondition, type Row, oneJson } from "./rows.ts";
import { databaseName } from "../schema/databaseName.ts";

/** How SQL reads the value of a field. */
export type SqlJsonField =
  /** A value of a row. */
  | { kind: "value"; text: (row: Row) => Text }
  /** The row to which a row refers. */
  | { kind: "one"; resource: PgResource; join: Join; required: boolean }
  /** The rows that a function of a row returns, in its order. */
  | { kind: "computed"; call: (row: SQL) => SQL }
  | ListField
  /** The row that matches some arguments: `bind` has their values. */
  | {
      kind: "rootOne";
      resource: PgResource;
      arguments: readonly string[];
      matches: (row: Row, bind: BindNth) => SQL;
    }
  /** An object that is not a row. `values` throws where the request is wrong or Grafast has to answer. */
  | {
      kind: "rootObject";
      values: (args: Record<string, unknown>) => readonly Bindable[];
      members: (bind: BindNth) => Members;
    }
  /** A function call with the arguments of a field; `type` is the row type. */
  | { kind: "call"; call: (args: Record<string, unknown>) => SQL; type: SQL };

/** The rows of a table as a list or a connection: those that join to a parent row, those `within`, or all. */
export interface ListField {
  kind: "list" | "page";
  resource: PgResource;
  join?: Join;
  within?: RowCondition;
  /** The searchable fields; null where there are none. */
  table: SearchTable | null;
}

/** The condition that joins a related row to a row. */
type Join = (row: Row, related: Row) => SQL;

/** The fields of an object that is not a row: JSON of a value, or a subquery of rows. */
export type Members = Partial<Record<string, { text: SQL } | { from: SQL }>>;

/** How the SQL-JSON path reads a field; undefined where it cannot. */
export function sqlJsonFieldOf(extensions: object): SqlJsonField | undefined {
  return (extensions as { sqlJson?: SqlJsonField }).sqlJson;
}

/** How the SQL-JSON path reads a field of the schema; undefined where only Grafast can. */
export function describeField(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  // Fields with their own guard belong to plugins.
  if (scope.guard !== undefined) return undefined;
  if (scope.versionedTable) return versionOf(scope.versionedTable);
  if (scope.pgFieldAttribute) return columnOf(build, scope);
  if (scope.pgRelationDetails) return relationOf(build, scope);
  const resource = scope.pgFieldResource as PgResource | undefined;
  if (!resource)
    return scope.fieldBehaviorScope === "typeField:single" ? valueOf(build, scope) : undefined;
  if (resource.parameters) return computedOf(scope, resource);
  if (!scope.isRootQuery) return undefined;
  if (scope.isPgRowByUniqueConstraintField) return rowOf(build, resource);
  if (scope.isPgFieldSimpleCollection) return { kind: "list", resource, table: null };
  return scope.isPgFieldConnection ? pageOf(build, resource) : undefined;
}

/** Types of keys whose values need no conversion. */
const keyTypes = new Set<unknown>([TYPES.uuid, TYPES.text, TYPES.int2, TYPES.int, TYPES.bigint]);

function rowOf(build: GraphileBuild.Build, resource: PgResource): SqlJsonField | undefined {
  const codec = resource.codec as PgCodecWithAttributes;
  const key = (lookUpKey(resource)?.attributes ?? []).map((column) => ({
    column,
    argument: build.inflection.attribute({ attributeName: column, codec }),
    codec: codec.attributes[column]?.codec as PgCodec,
  }));
  if (key.length === 0 || !key.every((one) => keyTypes.has(one.codec))) return undefined;
  return {
    kind: "rootOne",
    resource,
    arguments: key.map(({ argument }) => argument),
    matches: (row, bind) =>
      sql.join(
        key.map(({ column, codec: { sqlType } }, n) => {
          return sql`${row.column(column)} = ${bind(n)}::${sqlType}`;
        }),
        " and ",
      ),
  };
}

/** The rows of a table as a connection. */
export function pageOf(build: GraphileBuild.Build, resource: PgResource): ListField {
  const table = hasPages(resource) ? build.searchTable(resource) : null;
  return { kind: "page", resource, table };
}

function columnOf(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  const codec = scope.pgCodec as PgCodecWithAttributes | undefined;
  const entry = Object.entries(codec?.attributes ?? {}).find(
    ([, attribute]) => attribute === scope.pgFieldAttribute,
  );
  if (!entry) return undefined;
  const [column, attribute] = entry;
  const write = jsonEncoderOf(build, attribute.codec);
  if (!write || attribute.via) return undefined;
  const text = (row: Row) => write(row.column(column));
  if (!attribute.notNull) return { kind: "value", text: (row) => nullIfIncomplete(text(row)) };
  const resource = build.pgTableResource(codec as never) as PgResource | null;
  // Columns of a view are required by a tag only.
  const mayLack = hasUnencodableValues(write) || (resource !== null && isView(resource));
  return { kind: "value", text: mayLack ? (row) => errorIfIncomplete(text(row)) : text };
}

function versionOf(table: Table): SqlJsonField {
  const versionIn = (row: Row) => versionSql(table, (name) => row.column(name));
  const finish = hasSummary(table) ? nullIfIncomplete : errorIfIncomplete;
  return {
    kind: "value",
    text(row) {
      if (!row.isOfFunction) return finish(['"', versionIn(row), '"']);
      const isSame = (stored: Row) => sql`${stored.column("id")} = ${row.column("id")}`;
      const rows = (stored: Row) => ({ conditions: [isSame(stored)] });
      const part = { from: table.from as SQL, order: [], rows };
      return finish(['"', oneJson("stored", (stored) => [versionIn(stored)], part), '"']);
    },
  };
}

function relationOf(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  const { codec, relationName } = (scope.pgRelationDetails ?? {}) as {
    codec?: PgCodecWithAttributes;
    relationName?: string;
  };
  const relation =
    codec && relationName && build.input.pgRegistry.pgRelations[codec.name]?.[relationName];
  if (!relation) return undefined;
  const { localAttributes, remoteAttributes } = relation;
  const join = (row: Row, related: Row) =>
    sql.join(
      localAttributes.map((local, index) => {
        const remote = remoteAttributes[index] ?? "";
        return sql`${related.column(remote)} = ${row.column(local)}`;
      }),
      " and ",
    );
  const resource = relation.remoteResource;
  if (scope.isPgManyRelationConnectionField) return { ...pageOf(build, resource), join };
  if (scope.isPgManyRelationListField) return { kind: "list", resource, join, table: null };
  if (!scope.isPgSingleRelationField) return undefined;
  const required = relation.extensions?.tags?.notNull !== undefined;
  return { kind: "one", resource, join, required };
}

function valueOf(
  build: GraphileBuild.Build,
  { pgCodec, fieldName }: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  const found = pgCodec && valueFunction(build, pgCodec, fieldName);
  const write = found && jsonEncoderOf(build, found.codec);
  if (!write) return undefined;
  const isRequired = found.extensions?.tags?.notNull !== undefined;
  const finish = isRequired ? errorIfIncomplete : nullIfIncomplete;
  return { kind: "value", text: (row) => finish(write(calledWith(found, row.whole()))) };
}

function computedOf(
  scope: GraphileBuild.ScopeObjectFieldsField,
  resource: PgResource,
): SqlJsonField | undefined {
  const { parameters = [], codec } = resource;
  const isPlain = scope.isPgFieldSimpleCollection && parameters.length === 1;
  if (!isPlain || scope.isRootQuery || !codec.attributes) return undefined;
  return { kind: "computed", call: (row) => calledWith(resource, row) };
}

/** The function that computes a field of a row of type `codec`; PostGraphile does not note it at the field. */
function valueFunction(
  build: GraphileBuild.Build,
  codec: PgCodec,
  fieldName: string,
): PgResource | undefined {
  return Object.values(build.input.pgRegistry.pgResources).find(
    (resource) =>
      resource.parameters?.length === 1 &&
      resource.parameters[0]?.codec === codec &&
      resource.isUnique &&
      !resource.codec.attributes &&
      build.inflection.computedAttributeField({ resource: resource as never }) === fieldName,
  );
}

/** Calls a function with a row. */
function calledWith(resource: PgResource, row: SQL): SQL {
  return sql`${sql.identifier(databaseName(resource))}(${row})`;
}
