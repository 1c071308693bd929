import type { PgResource } from "postgraphile/@dataplan/pg";

/** The name of a table in the database. `resource.name` is its name in the API, which the tag `@name` changes. */
export const tableName = ({ extensions, name }: Pick<PgResource, "extensions" | "name">): string =>
  extensions?.pg?.name ?? name;
