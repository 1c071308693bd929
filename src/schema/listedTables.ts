import type { PgResource } from "postgraphile/@dataplan/pg";
import { type Guard, parseGuard, readGuard } from "../auth/guards.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { nearest } from "../text/suggest.ts";

type Tagged = Pick<PgResource, "parameters" | "extensions" | "uniques">;

/** Whether the table's list at the root is a connection: the tag `@connection`. */
export function isConnection(resource: Pick<PgResource, "extensions"> | undefined): boolean {
  return resource?.extensions?.tags?.connection !== undefined;
}

/**
 * Whether the rows of a table can be paged through and searched: its list is a connection, or one stands beside the plain list
 * (`userPages` beside `users`), which the tag `@pages off` takes away. Pages need a key.
 */
export function hasPages(resource: Tagged | undefined): boolean {
  if (!resource || resource.parameters) return false;
  if (isConnection(resource)) return true;
  const { read, root, internal, pages } = (resource.extensions?.tags ?? {}) as Record<
    string,
    unknown
  >;
  const isListed = read !== undefined && root !== "off" && internal === undefined;
  return isListed && pages !== "off" && resource.uniques.length > 0;
}

/** Who may read the rows of a table; nobody where the tag `@read` is missing, which the schema lint rejects. */
export function tableGuard({ extensions }: Pick<PgResource, "extensions">): Guard {
  return parseGuard(readGuard(extensions?.tags)) ?? [];
}

/** The tables with pages, by the name of their list, such as `products`. */
export function listedTables(build: GraphileBuild.Build): ReadonlyMap<string, PgResource> {
  return new Map(
    Object.values(build.pgResources as Record<string, PgResource>)
      .filter(hasPages)
      .map((table) => [build.inflection.allRowsList(table as never), table]),
  );
}

/** All tables that somebody may read, by the names that the console has for them: also those without a list at the root. */
export function readableTables(build: GraphileBuild.Build): ReadonlyMap<string, PgResource> {
  return new Map(
    Object.values(build.pgResources as Record<string, PgResource>)
      .filter(({ parameters, codec, extensions }) => {
        const { read, internal } = (extensions?.tags ?? {}) as Record<string, unknown>;
        return !parameters && codec.attributes && read !== undefined && internal === undefined;
      })
      .map((table) => [build.inflection.allRowsList(table as never), table]),
  );
}

/**
 * The table that an argument names.
 * @throws PublicError with the nearest names, at the path of the argument
 */
export function tableNamed<T>(tables: ReadonlyMap<string, T>, name: string, argument: string): T {
  const table = tables.get(name);
  if (table !== undefined) return table;
  const known = nearest(name, [...tables.keys()]);
  throw badUserInput(
    `${argument} must be one of ${(known.length > 0 ? known : [...tables.keys()]).join(", ")}`,
    { path: [argument] },
  );
}
