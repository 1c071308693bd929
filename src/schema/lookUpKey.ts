import type { PgResource } from "postgraphile/@dataplan/pg";

type Unique = PgResource["uniques"][number];

/** Whether a resource is a view, whose keys and required columns its tags promise. */
export function isView({ extensions }: Pick<PgResource, "extensions">): boolean {
  return (extensions as { isView?: boolean } | undefined)?.isView === true;
}

/** The key by which a root field finds one row: of a table its primary key `id`, of a view the key that its tags name. */
export function lookUpKey(resource: PgResource): Unique | undefined {
  const primary = resource.uniques.find((unique) => unique.isPrimary);
  if (isView(resource)) return primary ?? resource.uniques[0];
  return primary?.attributes.join() === "id" ? primary : undefined;
}
