import type { PgCodecWithAttributes } from "postgraphile/@dataplan/pg";

/** Whether a column can be given in an input: not what the database fills by itself, and nothing hidden. */
export function isWritable(
  name: string,
  attribute: PgCodecWithAttributes["attributes"][string],
): boolean {
  const tags = attribute.extensions?.tags ?? {};
  return (
    !["id", "created_at", "updated_at"].includes(name) &&
    tags.internal === undefined &&
    tags.secret === undefined
  );
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
