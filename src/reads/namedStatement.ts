import { createHash } from "node:crypto";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { Ahead } from "../postgres/SettledQuery.ts";

/** What a request gives for an operation's variables: as it was sent, and as it was read. */
export interface Given {
  sent: Record<string, unknown>;
  coerced: Record<string, unknown>;
}

type Late = (given: Given) => string | null;

/** A value that is known only with each request. */
export function lateValue(late: Late): SQL {
  // A compiled statement gives its values back as they were put in; only texts and these are.
  return sql.value(late as never);
}

/** A statement under a name that stands for its text, for the values of a request. */
export function namedStatement(statement: SQL): (given: Given) => Ahead & { name: string } {
  const { text, values } = sql.compile(statement);
  const name = createHash("sha1").update(text).digest("base64url");
  const kept = values as unknown as (string | null | Late)[];
  return (given) => ({
    text,
    name,
    values: kept.map((value) => (typeof value === "function" ? value(given) : value)),
  });
}
