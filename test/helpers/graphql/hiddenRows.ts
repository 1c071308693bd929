import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import { type TableAccess, expectedCell } from "../../../dev/access/matrix.ts";
import { inTransaction } from "../database.ts";

/** A caller whose visible rows are read. */
export interface Viewer {
  /** The names of such callers in the expectations of `test/db/access.test.ts`; together they form this caller. */
  names: readonly string[];
  settings: Readonly<Record<string, string>>;
}

/** The hashes of the rows that a caller may see, by table. */
export type Visible = ReadonlyMap<string, readonly string[]>;

/** The result of `makeHiding`. */
export type Hiding = Awaited<ReturnType<typeof makeHiding>>;

interface Table {
  name: string;
  columns: string;
}

const tablesQuery = `
  select c.oid::regclass::text as name,
    (select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
     where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
  from pg_class c
  where c.relnamespace = 'backoffice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    and c.relname !~ 'schema_migrations$'
  order by 1`;

/** Hides rows from everyone by deleting them, and restores them afterwards. Runs as a superuser. */
export async function makeHiding(pool: pg.Pool) {
  const { rows: tables } = await pool.query<Table>(tablesQuery);
  const expected = JSON.parse(
    await readFile(join(import.meta.dirname, "../../fixtures/db/access.expected.json"), "utf8"),
  ) as Record<string, TableAccess>;
  await pool.query(
    "create schema kept;" +
      tables.map(({ name }) => `create table kept.${name} as table ${name};`).join(""),
  );

  const counts = await pool.query<{ name: string; rows: number }>(
    tables
      .map(({ name }) => `select '${name}' as name, count(*)::integer as rows from ${name}`)
      .join(" union all "),
  );
  const all = new Map(counts.rows.map(({ name, rows }) => [name, rows]));

  /** Whether the expectations let a caller select any row of a table. */
  const isOpen = (table: string, { names }: Viewer) =>
    names.some(
      (name) =>
        !/^no/.test(expectedCell(expected[table], { role: "office_api", verb: "select", name })),
    );

  return {
    tables: tables.map(({ name }) => name),

    /** The empty tables, for which the checks would prove nothing. */
    async empty(): Promise<string[]> {
      const counts = await Promise.all(
        tables.map(async ({ name }) => ({
          name,
          rows: (await pool.query(`select from ${name} limit 1`)).rowCount,
        })),
      );
      return counts.filter(({ rows }) => rows === 0).map(({ name }) => name);
    },

    /** Reads the rows that each caller sees by policy, in the tables that the expectations open to it. */
    see: (viewers: readonly Viewer[]): Promise<Visible[]> =>
      inTransaction(pool, async (client) => {
        const names = tables.map(({ name }) => name).join(", ");
        await client.query(`grant select on ${names} to office_api`);
        const seen: Visible[] = [];
        for (const viewer of viewers) {
          const settings = { ...viewer.settings, role: "office_api" };
          await client.query(
            "select set_config(name, value, true) from unnest($1::text[], $2::text[]) as s(name, value)",
            [Object.keys(settings), Object.values(settings)],
          );
          const visible = new Map<string, string[]>();
          for (const { name } of tables) {
            if (!isOpen(name, viewer)) continue;
            const { rows } = await client.query<{ hash: string }>(
              `select md5(t::text) as hash from ${name} t`,
            );
            visible.set(
              name,
              rows.map(({ hash }) => hash),
            );
          }
          seen.push(visible);
          await client.query("reset role");
        }
        return seen;
      }),

    /**
     * Runs `work` while the tables contain only the visible rows.
     * @param spareClosed keeps all rows of tables that are closed to the caller
     */
    async without<T>(visible: Visible, spareClosed: boolean, work: () => Promise<T>): Promise<T> {
      const some = tables.flatMap((table) => {
        const shown = visible.get(table.name);
        if (!shown && spareClosed) return [];
        const rows = shown ?? [];
        // Requests change no table but the audit log.
        if (rows.length === all.get(table.name) && table.name !== "audit_log") return [];
        const hidden = rows.length === 0 ? "" : `where md5(t::text) <> all ('{${rows.join()}}')`;
        return [{ ...table, hidden }];
      });
      await asReplica(some.map(({ name, hidden }) => `delete from ${name} t ${hidden}`));
      try {
        return await work();
      } finally {
        await asReplica(
          some.map(
            ({ name, columns, hidden }) =>
              `insert into ${name} (${columns}) overriding system value select ${columns} from kept.${name} t ${hidden}`,
          ),
        );
      }
    },
  };

  /** Disables triggers and foreign keys, so that only the given rows change. */
  async function asReplica(statements: readonly string[]): Promise<void> {
    await pool.query(
      ["begin", "set local session_replication_role = replica", ...statements, "commit"].join(";"),
    );
  }
}
