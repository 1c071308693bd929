import type { PgResource } from "postgraphile/@dataplan/pg";

/** Returns the resource of a table or function that a plugin requires. @throws Error that names a missing one */
export function resource(build: GraphileBuild.Build, name: string): PgResource {
  const found = (build.pgResources as Record<string, PgResource | undefined>)[name];
  if (!found)
    throw new Error(`The schema has no table or function "${name}" that the request role may use`);
  return found;
}
