import type { PgCodec, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type OrderColumn, defaultOrder, uniqueOrder } from "../paging/defaultOrder.ts";
import { isView, lookUpKey } from "../schema/lookUpKey.ts";
import type { Bind } from "../query/bind.ts";
import type { SearchTable } from "../query/searchTable.ts";
import { hasPages } from "../schema/listedTables.ts";
import type { Table } from "../schema/labels.ts";
import { hasSummary, versionSql } from "../schema/rowVersion.ts";
import { jsonEncoderOf, type JsonEncoder } from "./jsonText.ts";
import { type Row, tableRow } from "./rows.ts";

/** A table in a statement. */
export interface Rows {
  resource: PgResource;
  from: SQL;
  /** The default order. */
  order: readonly OrderColumn[];
  /** Makes a requested order unique. */
  completed: (order: readonly OrderColumn[]) => readonly OrderColumn[];
}

/** The fields of an object that is not a row: JSON of a value, or a subquery of rows. */
export type Members = Partial<Record<string, { text: SQL } | { from: SQL }>>;

/** A key column and the argument with its value. */
export interface KeyColumn {
  column: string;
  argument: string;
  type: SQL;
}

/** How SQL reads the value of a field. */
export type SqlJsonField =
  | {
      kind: "column";
      column: string;
      write: JsonEncoder;
      required: boolean;
      /** Required by a tag only: the database may return null. */
      isPromised: boolean;
    }
  | {
      kind: "one";
      rows: Rows;
      join: (row: Row, related: Row) => SQL;
      required: boolean;
    }
  | { kind: "many"; rows: Rows; join: (row: Row, related: Row) => SQL }
  /** A page of related rows. */
  | ({ kind: "manyPage"; join: (row: Row, related: Row) => SQL } & PagedRows)
  /** The result of a function of a row. */
  | { kind: "value"; call: (row: SQL) => SQL; write: JsonEncoder; required: boolean }
  /** The version of a row. */
  | { kind: "version"; of: (row: Row) => SQL; required: boolean }
  /** The rows that a function of a row returns, in its order. */
  | { kind: "computed"; call: (row: SQL) => SQL }
  /** A function call with the arguments of a field; `type` is the row type. */
  | { kind: "call"; call: (args: Record<string, unknown>) => SQL; type: SQL }
  /** A non-table object; `bind` adds parameters. Throws where the request is wrong or Grafast has to answer. */
  | {
      kind: "rootObject";
      members: (args: Record<string, unknown>, asked: ReadonlySet<string>, bind: Bind) => Members;
    }
  /** A row by its key in the arguments, or by this id. */
  | { kind: "rootOne"; rows: Rows; key: readonly KeyColumn[] }
  | { kind: "rootOwn"; rows: Rows; id: SQL }
  | { kind: "rootMany"; rows: Rows }
  /** A page of the rows of a table, or of those `within`. */
  | ({ kind: "rootPage"; within?: (row: Row) => SQL } & PagedRows);

/** The rows of a connection. */
export interface PagedRows {
  rows: Rows;
  /** The searchable fields; null where there are none. */
  table: SearchTable | null;
}

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
  if (scope.isPgFieldSimpleCollection) return { kind: "rootMany", rows: rowsOf(resource) };
  if (scope.isPgFieldConnection) return { kind: "rootPage", ...pagedRows(build, resource) };
  return undefined;
}

/** Types of keys whose values need no conversion. */
const keyTypes = new Set<unknown>([TYPES.uuid, TYPES.text, TYPES.int2, TYPES.int, TYPES.bigint]);

function rowOf(build: GraphileBuild.Build, resource: PgResource): SqlJsonField | undefined {
  const codec = resource.codec as PgCodecWithAttributes;
  const columns = lookUpKey(resource)?.attributes ?? [];
  const key = columns.map((column) => ({
    column,
    argument: build.inflection.attribute({ attributeName: column, codec }),
    codec: codec.attributes[column]?.codec as PgCodec,
  }));
  if (key.length === 0 || !key.every((one) => keyTypes.has(one.codec))) return undefined;
  return {
    kind: "rootOne",
    rows: rowsOf(resource),
    key: key.map(({ column, argument, codec: { sqlType } }) => ({
      column,
      argument,
      type: sqlType,
    })),
  };
}

/** The rows of a table's connection. */
export function pagedRows(build: GraphileBuild.Build, resource: PgResource): PagedRows {
  const isSearched = hasPages(resource);
  return { rows: rowsOf(resource), table: isSearched ? build.searchTable(resource) : null };
}

/** A resource as a table of a statement. */
export function rowsOf(resource: PgResource): Rows {
  return {
    resource,
    from: resource.from as SQL,
    order: defaultOrder(resource),
    completed: (order) => uniqueOrder(resource, order),
  };
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
  const enumName = (value: string) => build.inflection.enumValue(value, attribute.codec as never);
  const write = jsonEncoderOf(attribute.codec, enumName);
  if (!write || attribute.via) return undefined;
  const required = attribute.notNull === true;
  const resource = build.pgTableResource(codec as never) as PgResource | null;
  const isPromised = required && resource !== null && isView(resource);
  return { kind: "column", column, write, required, isPromised };
}

function versionOf(table: Table): SqlJsonField {
  return {
    kind: "version",
    required: !hasSummary(table),
    of(row) {
      if (!row.isOfFunction) return versionSql(table, (name) => row.column(name));
      const stored = tableRow("stored");
      return sql`(select ${versionSql(table, (name) => stored.column(name))} from ${table.from as SQL} as ${stored.alias} where ${stored.column("id")} = ${row.column("id")})`;
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
    codec && relationName
      ? build.input.pgRegistry.pgRelations[codec.name]?.[relationName]
      : undefined;
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
  if (scope.isPgManyRelationConnectionField)
    return { kind: "manyPage", join, ...pagedRows(build, relation.remoteResource) };
  const rows = rowsOf(relation.remoteResource);
  if (scope.isPgManyRelationListField) return { kind: "many", rows, join };
  if (!scope.isPgSingleRelationField) return undefined;
  const required = relation.extensions?.tags?.notNull !== undefined;
  return { kind: "one", rows, join, required };
}

function valueOf(
  build: GraphileBuild.Build,
  { pgCodec, fieldName }: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  const found = pgCodec && valueFunction(build, pgCodec, fieldName);
  if (!found) return undefined;
  const enumName = (value: string) => build.inflection.enumValue(value, found.codec as never);
  const write = jsonEncoderOf(found.codec, enumName);
  if (!write) return undefined;
  const required = found.extensions?.tags?.notNull !== undefined;
  return { kind: "value", call: (row) => calledWith(found, row), write, required };
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
export function valueFunction(
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
export function calledWith({ name, extensions }: PgResource, row: SQL): SQL {
  return sql`${sql.identifier(extensions?.pg?.name ?? name)}(${row})`;
}
