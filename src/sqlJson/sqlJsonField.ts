import type { PgCodec, PgCodecWithAttributes, PgResource } from "postgraphile/@dataplan/pg";
import { TYPES } from "postgraphile/@dataplan/pg";
import type { SQL } from "postgraphile/pg-sql2";
import { defaultOrder, eachOnce, missingKey, type OrderColumn } from "../paging/defaultOrder.ts";
import { isView, lookUpKey } from "../schema/lookUpKey.ts";
import type { Bind } from "../query/bind.ts";
import type { SearchTable } from "../query/catalogue.ts";
import { type SqlJsonAggregate, aggregateOf } from "./aggregateField.ts";
import { jsonEncoderOf, type JsonEncoder } from "./jsonEncoder.ts";
import type { Row } from "./row.ts";
import { calledWith, valueFunction } from "./valueFunction.ts";

/** A table as a statement names it. */
export interface Rows {
  resource: PgResource;
  from: SQL;
  /** Where a caller names none. */
  order: readonly OrderColumn[];
  /** Completes an order that a caller names. */
  completed: (order: readonly OrderColumn[]) => readonly OrderColumn[];
}

/** What an object's fields are: the text of a value, or rows in their order. */
export type Members = Partial<Record<string, { text: SQL } | { from: SQL }>>;

/** A column of a key, with the argument that gives its value. */
export interface KeyColumn {
  column: string;
  argument: string;
  type: SQL;
}

/** How a field's value is read by SQL alone. */
export type SqlJsonField =
  | {
      kind: "column";
      column: string;
      write: JsonEncoder;
      required: boolean;
      /** Required by a tag alone: the database may give null all the same. */
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
  /** A value that a function gives for a row. */
  | { kind: "value"; call: (row: SQL) => SQL; write: JsonEncoder; required: boolean }
  /** Rows that a function gives for a row, in its own order. */
  | { kind: "computed"; call: (row: SQL) => SQL }
  /** A row that a function gives, called with a field's arguments; `type` is the row's. */
  | { kind: "call"; call: (args: Record<string, unknown>) => SQL; type: SQL }
  /** An object that is no row, of which these fields are asked, its values put in by `bind`. Throws for what is refused or better left to Grafast. */
  | {
      kind: "rootObject";
      members: (args: Record<string, unknown>, asked: ReadonlySet<string>, bind: Bind) => Members;
    }
  /** The row whose key is the field's arguments, or of this id. */
  | { kind: "rootOne"; rows: Rows; key: readonly KeyColumn[] }
  | { kind: "rootOwn"; rows: Rows; id: SQL }
  | { kind: "rootMany"; rows: Rows }
  /** A page of a table's rows, or of those `within`. */
  | ({ kind: "rootPage"; within?: (row: Row) => SQL } & PagedRows)
  | SqlJsonAggregate;

/** What a connection pages through. */
export interface PagedRows {
  rows: Rows;
  /** What can be searched of it. */
  table: SearchTable | null;
}

/** The field's way of being read by SQL alone, if it has one. */
export function sqlJsonFieldOf(extensions: object): SqlJsonField | undefined {
  return (extensions as { sqlJson?: SqlJsonField }).sqlJson;
}

/** How the SQL-JSON path reads a field of the schema; undefined where only Grafast can. */
export function describeField(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  // A field that declares its own guard is one of our plugins'.
  if (scope.guard !== undefined) return undefined;
  const figure = aggregateOf(build, scope);
  if (figure) return figure;
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

/** Types of keys whose values go from the API to the database as they are. */
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

/** What a connection of a table pages through. */
export function pagedRows(build: GraphileBuild.Build, resource: PgResource): PagedRows {
  const isSearched = resource.extensions?.tags?.connection !== undefined;
  return { rows: rowsOf(resource), table: isSearched ? build.searchTable(resource) : null };
}

/** A resource as a statement names it. */
export function rowsOf(resource: PgResource): Rows {
  return {
    resource,
    from: resource.from as SQL,
    order: defaultOrder(resource),
    completed: (order) => {
      const once = eachOnce(order);
      return [...once, ...missingKey(resource, once)];
    },
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

function relationOf(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonField | undefined {
  const { sql } = build;
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
