import type { GraphQLInputType, GraphQLOutputType } from "graphql";
import type { PgCodec, PgCodecWithAttributes } from "postgraphile/@dataplan/pg";

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
  attribute: PgCodecWithAttributes["attributes"][string],
  required: boolean,
) {
  const { GraphQLNonNull, getNullableType } = build.graphql;
  const type = graphqlType(build, attribute.codec, "input") as GraphQLInputType;
  return required
    ? { description: attribute.description, type: new GraphQLNonNull(getNullableType(type)) }
    : { description: attribute.description, type, ...deprecation(attribute.extensions?.tags) };
}

/** The reason of the tag `@deprecated`. */
export function deprecation(tags: object | undefined): { deprecationReason?: string } {
  const { deprecated } = (tags ?? {}) as { deprecated?: unknown };
  if (deprecated === undefined) return {};
  return { deprecationReason: typeof deprecated === "string" ? deprecated : "It will be removed." };
}

/** The columns of a row type by API name. */
export function columnNames(
  build: GraphileBuild.Build,
  codec: PgCodecWithAttributes,
): Map<string, string> {
  return new Map(
    Object.keys(codec.attributes).map((name) => [
      build.inflection.attribute({ attributeName: name, codec }),
      name,
    ]),
  );
}

/** Renames the keys of an input object to column names; missing ones stay missing. */
export function toColumns(
  given: unknown,
  columns: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const entries = Object.entries((given ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([field, value]) => [columns.get(field) ?? field, value]));
}
