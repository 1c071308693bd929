import { type GraphQLSchema, getNamedType } from "graphql";
import type pg from "pg";
import { type RootField, fieldOf } from "./rootFields.ts";

/** Gives a field as it is asked for each of a few rows that there are, wherever it takes an id. */
export type WithIds = (field: RootField) => Promise<RootField[]>;

/** `owner` sees every row. */
export function makeWithIds(owner: pg.Pool, schema: GraphQLSchema): WithIds {
  const known = new Map<string, string[]>();

  /** Ids of a table, none where there is no such table. */
  async function idsOf(table: string): Promise<string[]> {
    const before = known.get(table);
    if (before) return before;
    const { rows } = await owner.query<{ known: boolean }>(
      "select to_regclass($1) is not null as known",
      [table],
    );
    const ids = rows[0]?.known
      ? (await owner.query<{ id: string }>(`select id from ${table} order by id limit 4`)).rows
      : [];
    known.set(
      table,
      ids.map(({ id }) => id),
    );
    return known.get(table) ?? [];
  }

  return async (field) => {
    const { type } = fieldOf(schema, field);
    let variants = [field];
    for (const name of Object.keys(field.variables)) {
      if (!/^id$|Id$/.test(name)) continue;
      const thing =
        name === "id"
          ? (/^(?:delete|revoke|update|resend|cancel|retry)(\w+)$/.exec(field.name)?.[1] ??
            getNamedType(type).name)
          : name.replace(/Id$/, "");
      const ids = await idsOf(`${thing.replace(/(?<!^)([A-Z])/g, "_$1")}s`.toLowerCase());
      if (ids.length > 0)
        variants = variants.flatMap((variant) =>
          ids.map((id) => ({ ...variant, variables: { ...variant.variables, [name]: id } })),
        );
    }
    return variants;
  };
}
