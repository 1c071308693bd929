import type { PgResource } from "postgraphile/@dataplan/pg";

/**
 * The name of a table or function in the database. `resource.name` is its name in the API, which the tag `@name`
 * changes.
 */
export const databaseName = ({
  extensions,
  name,
}: Pick<PgResource, "extensions" | "name">): string => extensions?.pg?.name ?? name;
