import type { GraphQLInputType, GraphQLOutputType } from "graphql";
import type { PgCodec, PgCodecWithAttributes } from "postgraphile/@dataplan/pg";

/**
 * Whether a column can be given in the input of a verb: not what the database fills by itself, nothing hidden, and only
 * what the column's own tag `@mutations` (`create`, `update` or `off`) leaves to the verb.
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

/** The GraphQL type of a value; the items of an array are never null. */
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

/** One column as a field of an input object. What is required cannot be called deprecated: nobody could leave it out. */
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

/** The reason that the tag `@deprecated` gives, as a field or an argument takes it. */
export function deprecation(tags: object | undefined): { deprecationReason?: string } {
  const { deprecated } = (tags ?? {}) as { deprecated?: unknown };
  if (deprecated === undefined) return {};
  return { deprecationReason: typeof deprecated === "string" ? deprecated : "It will go." };
}

/** The columns of a row type by their names in the API. */
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

/** An input object with the columns' names as keys; what was not given is not in it. */
export function toColumns(
  given: unknown,
  columns: ReadonlyMap<string, string>,
): Record<string, unknown> {
  const entries = Object.entries((given ?? {}) as Record<string, unknown>);
  return Object.fromEntries(entries.map(([field, value]) => [columns.get(field) ?? field, value]));
}
