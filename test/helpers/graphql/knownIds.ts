import { type GraphQLSchema, getNamedType } from "graphql";
import type pg from "pg";
import { type RootField, fieldOf } from "./rootFields.ts";

/** Returns variants of a field with the ids of existing rows: a few for each argument, the first for each input field. */
export type WithIds = (field: RootField) => Promise<RootField[]>;

/** @param owner a pool that sees every row */
export function makeWithIds(owner: pg.Pool, schema: GraphQLSchema): WithIds {
  const known = new Map<string, string[]>();

  /** Ids of a table; none when it does not exist. */
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

  const idsOfThing = (thing: string) =>
    idsOf(`${thing.replace(/(?<!^)([A-Z])/g, "_$1")}s`.toLowerCase());

  /** The input object with the id of an existing row in each field `...Id`. */
  async function withInputIds({ variables }: RootField): Promise<Record<string, unknown>> {
    const { input } = variables;
    if (typeof input !== "object" || input === null) return variables;
    const filled = Object.entries(input).map(async ([name, value]): Promise<[string, unknown]> => {
      const [id] = /Id$/.test(name) ? await idsOfThing(name.replace(/Id$/, "")) : [];
      return [name, id ?? value];
    });
    return { ...variables, input: Object.fromEntries(await Promise.all(filled)) };
  }

  return async (asked) => {
    const field = { ...asked, variables: await withInputIds(asked) };
    const { type } = fieldOf(schema, field);
    let variants = [field];
    for (const name of Object.keys(field.variables)) {
      if (name === "ids") {
        const things = /^(?:delete|update)(\w+)s$/.exec(field.name)?.[1] ?? "";
        const ids = await idsOfThing(things);
        if (ids.length > 0)
          variants = ids.map((id) => ({ ...field, variables: { ...field.variables, ids: [id] } }));
      }
      if (!/^id$|Id$/.test(name)) continue;
      const thing =
        name === "id"
          ? (/^(?:delete|revoke|update|resend|cancel|retry)(\w+)$/.exec(field.name)?.[1] ??
            getNamedType(type).name)
          : name.replace(/Id$/, "");
      const ids = await idsOfThing(thing);
      if (ids.length > 0)
        variants = variants.flatMap((variant) =>
          ids.map((id) => ({ ...variant, variables: { ...variant.variables, [name]: id } })),
        );
    }
    return variants;
  };
}
