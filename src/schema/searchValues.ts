import type { GraphQLInputType } from "graphql";
import { type PgCodec, TYPES, isEnumCodec } from "postgraphile/@dataplan/pg";
import type { SQL } from "postgraphile/pg-sql2";
import type { FieldKind, SearchField } from "../query/searchTable.ts";

/** The values of a column or function, and how conditions compare them. */
type Values = Pick<SearchField, "kind" | "list" | "type" | "values" | "inputType"> & {
  /** Casts a value to the type that conditions of its kind use. */
  cast: (value: SQL) => SQL;
};

/** The kind of each type that can be searched, and the type that its conditions compare. */
const kinds = new Map<unknown, readonly [FieldKind, PgCodec]>([
  [TYPES.text, ["text", TYPES.text]],
  [TYPES.varchar, ["text", TYPES.text]],
  [TYPES.bpchar, ["text", TYPES.text]],
  [TYPES.citext, ["text", TYPES.text]],
  [TYPES.int2, ["integer", TYPES.int]],
  [TYPES.int, ["integer", TYPES.int]],
  [TYPES.bigint, ["bigint", TYPES.bigint]],
  [TYPES.numeric, ["decimal", TYPES.numeric]],
  [TYPES.float4, ["float", TYPES.float]],
  [TYPES.float, ["float", TYPES.float]],
  [TYPES.boolean, ["boolean", TYPES.boolean]],
  [TYPES.uuid, ["id", TYPES.uuid]],
  [TYPES.timestamptz, ["instant", TYPES.timestamptz]],
  [TYPES.timestamp, ["timestamp", TYPES.timestamp]],
  [TYPES.date, ["date", TYPES.date]],
]);

/** The kind of a database type in the query language; undefined for types that cannot be searched. */
export function valuesOf(build: GraphileBuild.Build, codec: PgCodec): Values | undefined {
  const { sql, inflection } = build;
  const element = innerCodec(codec).arrayOfCodec;
  const list = element !== undefined;
  const inner = innerCodec(element ?? codec);
  const inputType = () => build.getGraphQLTypeByPgCodec(inner, "input") as GraphQLInputType;
  if (isEnumCodec(inner)) {
    const values = new Map(
      inner.values.map(({ value }) => [inflection.enumValue(value, inner), value]),
    );
    const cast = (value: SQL) =>
      list && element !== inner ? sql`(${value})::${inner.sqlType}[]` : value;
    return { kind: "enum", list, type: inner.sqlType, values, inputType, cast };
  }
  const [kind, compared] = kinds.get(inner) ?? [];
  if (!kind || !compared) return undefined;
  // Single values of different types are comparable, except text; lists only with lists of the same type.
  const isCast = list ? element !== compared : kind === "text" && inner !== compared;
  const type = compared.sqlType;
  const cast = (value: SQL) =>
    !isCast ? value : list ? sql`(${value})::${type}[]` : sql`(${value})::${type}`;
  return { kind, list, type: inner.sqlType, inputType, cast };
}

function innerCodec(codec: PgCodec): PgCodec {
  return codec.domainOfCodec ? innerCodec(codec.domainOfCodec) : codec;
}
