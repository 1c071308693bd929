import type { GraphQLInputType, GraphQLOutputType } from "graphql";
import type { PgCodec, PgCodecWithAttributes } from "postgraphile/@dataplan/pg";
import { innerCodec } from "./columns.ts";

/**
 * Whether an input of a verb contains a column: not columns that the database fills, not hidden ones, and only those
 * that the column's tag `@mutations` (`create`, `update` or `off`) allows.
 */
export function isWritable(
  name: string,
  attribute: PgCodecWithAttributes["attributes"][string],
  verb: "create" | "update",
): boolean {
  const tags = attribute.extensions?.tags ?? {};
  return (
    !["id", "created_at", "updated_at"].includes(name) &&
    tags.internal === undefined &&
    tags.secret === undefined &&
    (tags.mutations === undefined || tags.mutations === verb) &&
    attribute.extensions?.isInsertable !== false
  );
}

/** The GraphQL type of a value; items of an array are not null. */
export function graphqlType(
  build: GraphileBuild.Build,
  codec: PgCodec,
  mode: "input" | "output",
): GraphQLInputType | GraphQLOutputType {
  const { GraphQLList, GraphQLNonNull } = build.graphql;
  if (codec.arrayOfCodec)
    return new GraphQLList(
      new GraphQLNonNull(graphqlType(build, codec.arrayOfCodec, mode) as never),
    );
  const type = build.getGraphQLTypeByPgCodec(codec, mode);
  if (!type) throw new Error(`There is no GraphQL type for ${codec.name}`);
  return type as GraphQLInputType | GraphQLOutputType;
}

/** A column as an input field. A required field is never deprecated, since callers cannot omit it. */
export function inputField(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
  [name, attribute]: [string, PgCodecWithAttributes["attributes"][string]],
  required: boolean,
) {
  const { GraphQLNonNull, getNullableType } = build.graphql;
  const item = attribute.codec.arrayOfCodec ?? attribute.codec;
  if (!build.getGraphQLTypeByPgCodec(item, "input"))
    throw new Error(
      `The column ${nameInDatabase(codec)}.${name} has the type ${nameInDatabase(item)}, which no mutation can take. Give the column the tag \`@mutations off\`, or another type, such as \`jsonb\`.`,
    );
  const type = graphqlType(build, attribute.codec, "input") as GraphQLInputType;
  return required
    ? { description: attribute.description, type: new GraphQLNonNull(getNullableType(type)) }
    : { description: attribute.description, type, ...deprecation(attribute.extensions?.tags) };
}

const nameInDatabase = (codec: PgCodec) => codec.extensions?.pg?.name ?? codec.name;

/** The reason of the tag `@deprecated`. */
export function deprecation(tags: object | undefined): { deprecationReason?: string } {
  const { deprecated } = (tags ?? {}) as { deprecated?: unknown };
  if (deprecated === undefined) return {};
  return { deprecationReason: typeof deprecated === "string" ? deprecated : "It will be removed." };
}

/**
 * Turns an input object of a row type into JSON for `jsonb_populate_record`: the keys become column names, and values
 * that JSON has no form for become their text in PostgreSQL. Missing fields stay missing.
 */
export function columnValues(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
): (given: unknown) => Record<string, unknown> {
  const columns = new Map(
    Object.entries(codec.attributes).map(([name, attribute]) => [
      build.inflection.attribute({ attributeName: name, codec }),
      { name, codec: attribute.codec },
    ]),
  );
  return (given) =>
    Object.fromEntries(
      Object.entries((given ?? {}) as Record<string, unknown>).map(([field, value]) => {
        const column = columns.get(field);
        return column ? [column.name, jsonValue(build, column.codec, value)] : [field, value];
      }),
    );
}

function jsonValue(build: GraphileBuild.Build, codec: PgCodec, value: unknown): unknown {
  const { json, jsonb } = build.dataplanPg.TYPES;
  const inner = innerCodec(codec);
  const { arrayOfCodec } = inner;
  if (typeof value !== "object" || value === null || inner === json || inner === jsonb)
    return value;
  if (arrayOfCodec && Array.isArray(value))
    return value.map((item: unknown) => jsonValue(build, arrayOfCodec, item));
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString("hex")}`;
  // Such as ranges and intervals.
  return inner.toPg(value);
}
