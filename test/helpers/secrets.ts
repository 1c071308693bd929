import type pg from "pg";
import { isCalendarToken, tokenKind } from "../../src/auth/tokens.ts";

/** Tables with rows from requests, jobs and responses, in every tenant schema and in the queue's schema. */
const tables = [
  "_private_jobs",
  "api_tokens",
  "audit_log",
  "calendar_feeds",
  "erp_sync_runs",
  "export_jobs",
  "idempotency_keys",
  "invitations",
  "jobs",
  "login_codes",
  "product_sync_runs",
  "search_keys",
  "sessions",
];
const suspect = "bo[salc]_[A-Za-z0-9_-]{43}|X-Amz-Signature=[0-9a-f]{64}";

/**
 * Throws if a text contains a token with a valid checksum (made-up tokens in tests have none), a login code or
 * an object store signature.
 * `where` names the source. The message contains only the first characters of the secret.
 */
export function expectNoSecrets(where: string, text: string): void {
  for (const [found] of text.matchAll(
    /bo[sac]_[\w-]{43}[0-9a-f]{8}|bol_[\w-]{43}|X-Amz-Signature=[0-9a-f]{64}/g,
  ))
    if (!/^bo[sac]_/.test(found) || tokenKind(found) !== null || isCalendarToken(found))
      throw new Error(`${where} holds a secret: ${found.slice(0, 8)}…`);
}

/** Checks the rows of these tables in all tenant schemas of a database. */
export async function expectNoSecretsIn(pool: pg.Pool | pg.ClientBase): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where c.relname = any ($1) and c.relkind in ('r', 'p') and not c.relispartition
       and (n.nspname like 'backoffice%' or n.nspname = 'graphile_worker')`,
    [tables],
  );
  if (rows.length === 0) return;
  const texts = rows.map(
    ({ name }, index) =>
      `select '${name.replaceAll("'", "''")}' as name, t${index}::text as text from ${name} as t${index} where t${index}::text ~ $1`,
  );
  const found = await pool.query<{ name: string; text: string }>(texts.join(" union all "), [
    suspect,
  ]);
  for (const { name, text } of found.rows) expectNoSecrets(name, text);
}
