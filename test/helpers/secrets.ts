import type pg from "pg";
import { isCalendarToken, tokenKind } from "../../src/auth/tokens.ts";

/** Tables whose rows come of requests, jobs and answers, in every tenant; the queue's own beside them. */
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
 * Fails where a text holds a whole token of ours, with a checksum that fits (what tests make up has none), a login code or a
 * signature of the file store; `where` says what is read. What it found is not in the message.
 */
export function expectNoSecrets(where: string, text: string): void {
  for (const [found] of text.matchAll(
    /bo[sac]_[\w-]{43}[0-9a-f]{8}|bol_[\w-]{43}|X-Amz-Signature=[0-9a-f]{64}/g,
  ))
    if (!/^bo[sac]_/.test(found) || tokenKind(found) !== null || isCalendarToken(found))
      throw new Error(`${where} holds a secret: ${found.slice(0, 8)}…`);
}

/** The same of the rows in which a database keeps what was asked, done and answered. */
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
