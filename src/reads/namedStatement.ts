import { createHash } from "node:crypto";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Ahead } from "../postgres/SettledQuery.ts";

/** A statement ready to run, under a name that stands for its text. */
export function namedStatement(statement: SQL): Ahead & { name: string } {
  const { text, values } = sql.compile(statement);
  const name = createHash("sha1").update(text).digest("base64url");
  // What is compiled here has texts for values, and PostgreSQL casts them.
  return { text, name, values: values as (string | null)[] };
}
