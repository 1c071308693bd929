import type { PgCodec, PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

/** The function that computes a field of a row of type `codec`; PostGraphile does not note it at the field. */
export function valueFunction(
  build: GraphileBuild.Build,
  codec: PgCodec,
  fieldName: string,
): PgResource | undefined {
  return Object.values(build.input.pgRegistry.pgResources).find(
    (resource) =>
      resource.parameters?.length === 1 &&
      resource.parameters[0]?.codec === codec &&
      resource.isUnique &&
      !resource.codec.attributes &&
      build.inflection.computedAttributeField({ resource: resource as never }) === fieldName,
  );
}

/** Calls a function with a row. */
export function calledWith({ name, extensions }: PgResource, row: SQL): SQL {
  return sql`${sql.identifier(extensions?.pg?.name ?? name)}(${row})`;
}
