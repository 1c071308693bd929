import pg from "pg";
import type { PgClient, PgResource } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { PublicError } from "../errors/PublicError.ts";
import { RowError } from "../errors/RowError.ts";
import { isRejectedRow } from "../errors/databaseErrors.ts";
import { columnValues } from "../schema/inputColumns.ts";
import { labelColumns } from "../schema/labels.ts";
import { type TableResource, missingRow, valuesSource } from "../schema/tableMutations.ts";
import { type Chosen, type Wanted, idsOf, isChosen, isOneOf } from "./chooseRows.ts";

/** How many rows a mutation was about, changed, and found with the values already. */
export interface BulkResult {
  matched: number;
  changed: number;
  unchanged: number;
}

export type Verb = "update" | "delete";

/** Ends the savepoint of a dry run. */
export const takenBack = new Error("A dry run is taken back");

/** Changes or deletes the chosen rows. @throws PublicError unless the caller may do so with all of them */
export type Write = (client: PgClient, chosen: Chosen, wanted: Wanted) => Promise<BulkResult>;

export function makeUpdate(build: GraphileBuild.Build, resource: TableResource): Write {
  const valuesOf = columnValues(build, resource.codec);
  const table = build.sql.compile(resource.codec.sqlType).text;
  return async (client, chosen, wanted) => {
    // In one order, so that two mutations of the same rows wait for each other and do not deadlock.
    const locked = await idsOf(
      client,
      resource,
      (row) => sql`${isChosen(row, chosen)} order by ${row}.id for no key update`,
    );
    await requireAll(build, resource, client, { verb: "update", chosen, done: locked });
    const values = valuesOf(wanted.input);
    const names = Object.keys(values).map((name) => pg.escapeIdentifier(name));
    const of = (row: string) => names.map((name) => `${row}.${name}`).join(", ");
    const { rows } = await client.query({
      // JSON compares values of all types.
      text: `update ${table} as stored set (${names.join(", ")}) = row(${of("given")})
        from ${valuesSource(table, names.join(", "))} as given
        where stored.id = any ($2::uuid[])
          and to_jsonb(row(${of("stored")})) is distinct from to_jsonb(row(${of("given")}))
        returning stored.id`,
      values: [JSON.stringify(values), locked],
    });
    return {
      matched: locked.length,
      changed: rows.length,
      unchanged: locked.length - rows.length,
    };
  };
}

export function makeDelete(build: GraphileBuild.Build, resource: TableResource): Write {
  return async (client, chosen) => {
    const row = sql.identifier(Symbol("row"));
    const { text, values } = sql.compile(
      sql`delete from ${resource.from as SQL} as ${row} where ${isChosen(row, chosen)} returning ${row}.id`,
    );
    const { rows } = await client.query<{ id: string }>({ text, values: [...values] });
    const done = rows.map(({ id }) => id);
    await requireAll(build, resource, client, { verb: "delete", chosen, done });
    return { matched: done.length, changed: done.length, unchanged: 0 };
  };
}

/**
 * Rejects a mutation that reached fewer rows than were chosen. Rows of a query that do not match any more, because
 * somebody has changed them meanwhile, are left out instead.
 */
async function requireAll(
  build: GraphileBuild.Build,
  resource: TableResource,
  client: PgClient,
  { verb, chosen, done }: { verb: Verb; chosen: Chosen; done: readonly string[] },
): Promise<void> {
  const reached = new Set(done);
  const missing = chosen.ids.filter((id) => !reached.has(id));
  const [first] = missing;
  if (first === undefined) return;
  const { matches } = chosen;
  if (matches === null) {
    const path = ["ids", chosen.ids.indexOf(first)];
    throw await missingRow(build, resource, { client, verb, id: first, path });
  }
  const seen = await idsOf(client, resource, (row) => isChosen(row, { ids: missing, matches }));
  if (seen.length > 0)
    throw new PublicError(
      "FORBIDDEN",
      `You may not ${verb} ${seen.length} of the ${chosen.ids.length} rows that match`,
      { path: ["query"] },
    );
}

interface Attempt {
  ids: string[];
  write: (client: PgClient, ids: string[]) => Promise<BulkResult>;
}

/** Writes all rows; when the database rejects one of them, finds out which, by trying ever smaller halves. */
export async function writeOrNameRow(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  { ids, write }: Attempt,
): Promise<BulkResult> {
  const attempt = async (some: string[]): Promise<unknown> => {
    try {
      await client.withTransaction(async (inner) => {
        await write(inner, some);
        throw takenBack;
      });
    } catch (error) {
      return error === takenBack ? null : error;
    }
    return null;
  };
  try {
    return await client.withTransaction((inner) => write(inner, ids));
  } catch (error) {
    if (!isRejectedRow(error) || ids.length === 1) throw error;
    let suspects = ids;
    while (suspects.length > 1) {
      const half = suspects.slice(0, Math.ceil(suspects.length / 2));
      suspects = isRejectedRow(await attempt(half)) ? half : suspects.slice(half.length);
    }
    const [id = ""] = suspects;
    const failure = await attempt([id]);
    // Rows that are rejected only together, such as two with one number, have none that is to blame.
    if (!isRejectedRow(failure)) throw error;
    throw new RowError({ id, name: await nameOf(build, table, client, id) }, failure);
  }
}

async function nameOf(
  build: GraphileBuild.Build,
  table: TableResource,
  client: PgClient,
  id: string,
): Promise<string> {
  const { name } = labelColumns(build, table as PgResource);
  const row = sql.identifier(Symbol("row"));
  const { text, values } = sql.compile(
    sql`select ${row}.${sql.identifier(name)}::text as name from ${table.from as SQL} as ${row} where ${isOneOf(row, [id])}`,
  );
  const { rows } = await client.query<{ name: string | null }>({ text, values: [...values] });
  return rows[0]?.name ?? id;
}
