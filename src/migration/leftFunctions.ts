import type pg from "pg";
import { Refusal } from "./refusals.ts";

/** The functions of the current schema that the API shows, such as `idle_suppliers(text)`. */
export async function apiFunctions(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ signature: string }>(
    `select p.oid::regprocedure::text as signature from pg_proc p
     where p.pronamespace = current_schema()::regnamespace
       and comment_tags(obj_description(p.oid, 'pg_proc')) ?| array['guard', 'computed']
     order by 1`,
  );
  return rows.map(({ signature }) => signature);
}

/**
 * Refuses functions that no file creates any more: their fields would stay in the API.
 * @param declared the functions of a schema that was made from the files alone
 */
export async function refuseLeftFunctions(
  client: pg.ClientBase,
  declared: readonly string[],
): Promise<void> {
  const left = (await apiFunctions(client)).filter((signature) => !declared.includes(signature));
  if (left.length === 0) return;
  throw new Refusal(
    [
      "Functions of the API are in no file any more, nothing was changed:",
      ...left.map(
        (signature) =>
          `  - ${signature} stays until it is dropped: write \`drop function if exists ${signature}\` in a migration, or restore its file`,
      ),
    ].join("\n"),
  );
}
