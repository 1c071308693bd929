import type { PgResource } from "postgraphile/@dataplan/pg";

type Unique = PgResource["uniques"][number];

/** Whether a resource is a view; its tags declare keys and required columns. */
export function isView({ extensions }: Pick<PgResource, "extensions">): boolean {
  return (extensions as { isView?: boolean } | undefined)?.isView === true;
}

/** The key of the root field for one row: a table's primary key, or a view's tagged key. */
export function lookUpKey(resource: PgResource): Unique | undefined {
  const primary = resource.uniques.find((unique) => unique.isPrimary);
  if (isView(resource)) return primary ?? resource.uniques[0];
  return primary?.attributes.join() === "id" ? primary : undefined;
}

/** Whether no two rows have the same value in a column. */
export function isUnique({ uniques }: Pick<PgResource, "uniques">, attributeName: string): boolean {
  return uniques.some(
    ({ attributes: [first, ...others] }) => first === attributeName && others.length === 0,
  );
}
