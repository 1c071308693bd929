import { TYPES, type PgCodec, type PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type JsonEncoder, jsonEncoderOf } from "./jsonEncoder.ts";
import { calledWith, valueFunction } from "./valueFunction.ts";

/** How SQL computes aggregates over all matching rows or over groups of them. */
export type SqlJsonAggregate =
  | { kind: "aggregates" }
  | { kind: "groupedAggregates"; resource: PgResource }
  /** The columns that a group has in common. */
  | { kind: "groupKeys" }
  /** An object with one or more aggregates. */
  | { kind: "figures" }
  | { kind: "figure"; of: (row: SQL) => SQL; write: JsonEncoder; required: boolean };

/** How a field of a connection's aggregates is read; undefined for other fields. */
export function aggregateOf(
  build: GraphileBuild.Build,
  scope: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonAggregate | undefined {
  const { fieldName } = scope;
  if (scope.isPgAggregateContainerType) {
    if (scope.isPgAggregateKeys) return { kind: "groupKeys" };
    if (scope.isPgAggregateField) return { kind: "figures" };
    return fieldName === "count" ? countOf() : undefined;
  }
  if (scope.isPgAggregateType) return pgAggregateOf(build, scope);
  if (!scope.isConnectionType) return undefined;
  if (fieldName === "aggregates") return { kind: "aggregates" };
  if (fieldName !== "groupedAggregates") return undefined;
  const resource = Object.values(build.input.pgRegistry.pgResources).find(
    ({ codec, parameters }) => codec === scope.pgCodec && !parameters,
  );
  return resource && { kind: "groupedAggregates", resource };
}

function countOf(): SqlJsonAggregate | undefined {
  const write = jsonEncoderOf(TYPES.int, String);
  return write && { kind: "figure", of: () => sql`count(*)`, write, required: true };
}

/** Recognises fields of PgAggregatesAddAggregateTypesPlugin, which does not note the column of a field. */
function pgAggregateOf(
  build: GraphileBuild.Build,
  {
    pgAggregateSpec: spec,
    pgTypeResource: resource,
    fieldName,
  }: GraphileBuild.ScopeObjectFieldsField,
): SqlJsonAggregate | undefined {
  if (!spec || !resource) return undefined;
  const about = aboutOf(build, resource as PgResource, fieldName);
  if (!about) return undefined;
  const { codec, value } = about;
  const shown = spec.pgTypeCodecModifier?.(codec) ?? codec;
  const write = jsonEncoderOf(shown, (name) => build.inflection.enumValue(name, shown as never));
  return (
    write && {
      kind: "figure",
      of: (row) => spec.sqlAggregateWrap(value(row), codec),
      write,
      required: spec.isNonNull === true,
    }
  );
}

/** The column or the function that a field aggregates. */
function aboutOf(
  build: GraphileBuild.Build,
  resource: PgResource,
  fieldName: string,
): { codec: PgCodec; value: (row: SQL) => SQL } | undefined {
  const { codec } = resource;
  const attributes = codec.attributes;
  const column = Object.keys(attributes ?? {}).find(
    (attributeName) => build.inflection.attribute({ attributeName, codec } as never) === fieldName,
  );
  const attribute = column === undefined ? undefined : attributes?.[column];
  if (column !== undefined && attribute)
    return { codec: attribute.codec, value: (row) => sql`${row}.${sql.identifier(column)}` };
  const found = valueFunction(build, codec, fieldName);
  return found && { codec: found.codec, value: (row) => calledWith(found, row) };
}
