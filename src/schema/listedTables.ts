import type { PgResource } from "postgraphile/@dataplan/pg";
import { type Guard, parseGuard, readGuard } from "../auth/guards.ts";
import { badUserInput } from "../errors/PublicError.ts";
import { didYouMean } from "../text/suggest.ts";
import { tagText } from "./labels.ts";
import { hasOwnRows } from "./ownerTags.ts";

type Tagged = Pick<PgResource, "parameters" | "extensions" | "uniques">;

/** Whether the table's root list is a connection (the tag `@connection`). */
export function isConnection(resource: Pick<PgResource, "extensions"> | undefined): boolean {
  return resource?.extensions?.tags?.connection !== undefined;
}

/**
 * Whether the API has a connection of the table's rows, with pages and search: its root list, or a second field such as
 * `userPages` beside `users`, unless the tag `@pages off` removes it. Pages need a key.
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

/** The guard of reads of a table. Without the tag `@read`, which the schema lint rejects, it refuses everyone. */
export function tableGuard({ extensions }: Pick<PgResource, "extensions">): Guard {
  return parseGuard(readGuard(extensions?.tags)) ?? [];
}

/**
 * What the history of a row needs beside the right to read the row. Holders of `audit.read` read it anyway, and owners
 * that of their rows. Others may not have seen a row with an owner from the beginning.
 */
export function historyGuard({ extensions }: Pick<PgResource, "extensions">): Guard {
  const tag = tagText(extensions?.tags, "history");
  const guard = tag === null ? undefined : parseGuard(tag);
  return guard ?? (hasOwnRows(extensions?.tags) ? ["audit.read"] : "principal");
}

/** The tables with pages, by the name of their list, such as `products`. */
export function listedTables(build: GraphileBuild.Build): ReadonlyMap<string, PgResource> {
  return new Map(
    Object.values(build.pgResources as Record<string, PgResource>)
      .filter(hasPages)
      .map((table) => [build.inflection.allRowsList(table as never), table]),
  );
}

/** All tables with the tag `@read`, by their names in the console, including those without a root list. */
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
 * @throws PublicError with the nearest name, or all of them, at the path of the argument
 */
export function tableNamed<T>(tables: ReadonlyMap<string, T>, name: string, argument: string): T {
  const table = tables.get(name);
  if (table !== undefined) return table;
  const names = [...tables.keys()].sort();
  const hint = didYouMean(name, names);
  throw badUserInput(
    hint === ""
      ? `${argument} must be one of ${names.join(", ")}`
      : `${argument}: there is no list \`${name}\`${hint}`,
    { path: [argument] },
  );
}
