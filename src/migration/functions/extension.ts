import type pg from "pg";
import type { FunctionRow, TriggerUse } from "./probe.ts";

/** A finding of plpgsql_check. */
export interface Finding {
  line: number;
  state: string;
  message: string;
}

/** The name of plpgsql_check's function; null when the extension is not installed. */
export async function findPlpgsqlCheck(client: pg.ClientBase): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.plpgsql_check_function_tb', n.nspname) as name
     from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'plpgsql_check'`,
  );
  return rows[0]?.name ?? null;
}

/** The errors of plpgsql_check for a function, without warnings. */
export async function runPlpgsqlCheck(
  client: pg.ClientBase,
  name: string,
  row: FunctionRow,
  use?: TriggerUse,
): Promise<Finding[]> {
  const { rows } = await client.query<Finding>(
    `select coalesce(lineno, 1) as line, sqlstate as state, message
     from ${name}($1::oid, coalesce($2::regclass, 0), fatal_errors => false, other_warnings => false,
       performance_warnings => false, extra_warnings => false, oldtable => $3, newtable => $4)
     where level = 'error'`,
    [row.oid, use?.table ?? null, use?.oldRows ?? null, use?.newRows ?? null],
  );
  return rows;
}
