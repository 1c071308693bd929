import type { Pool } from "pg";
import type { Identity } from "./identity.ts";
import { readToken, type TokenHash } from "./tokens.ts";

/**
 * Finds the principal of a token with its present permissions by one indexed look-up. Nothing is cached, so
 * deactivation, logout and role changes apply from the next request in every process. Null for a token that is unknown,
 * ended, revoked or expired, or whose user is inactive.
 */
export async function authenticate(
  pool: Pool,
  tenant: string,
  token: TokenHash,
  idleHours: number,
): Promise<Identity | null> {
  const { identity } = await look(pool, tenant, token, idleHours, "null");
  return identity;
}

/** As {@link authenticate}, with the mark that a replica must have replayed to answer this caller; null without one. */
export function authenticateWithMark(
  pool: Pool,
  tenant: string,
  token: TokenHash,
  idleHours: number,
): Promise<{ identity: Identity | null; mark: string | null }> {
  return look(pool, tenant, token, idleHours, `"${tenant}".write_mark()`);
}

// The login role has no search path; the tenant's name was validated when it was resolved.
async function look(
  pool: Pool,
  tenant: string,
  { kind, hash }: TokenHash,
  idleHours: number,
  markSql: string,
) {
  const [call, values] =
    kind === "session"
      ? ["authenticate($1, $2)", [hash, idleHours]]
      : ["authenticate_api_token($1)", [hash]];
  const { rows } = await pool.query<{
    user_id: string;
    session_id?: string;
    token_id?: string;
    permissions: string[];
    scoped: boolean;
    mark: string | null;
  }>({ text: `select *, ${markSql} as mark from "${tenant}".${call}`, values });
  const [row] = rows;
  if (!row) return { identity: null, mark: null };
  const identity: Identity = {
    userId: row.user_id,
    sessionId: row.session_id ?? null,
    tokenId: row.token_id ?? null,
    permissions: new Set(row.permissions),
    scoped: row.scoped,
  };
  return { identity, mark: row.mark };
}

/** The credential in the Authorization headers. */
interface BearerCredential {
  /** Null unless there is exactly one well-formed token. */
  token: TokenHash | null;
  /** Whether a Bearer header was sent, well formed or not. Other schemes count as no credential. */
  isSent: boolean;
}

export function bearerCredential(rawHeaders: readonly string[]): BearerCredential {
  const given = rawHeaders.filter((_value, index) => {
    const name = rawHeaders[index - 1];
    return index % 2 === 1 && name?.toLowerCase() === "authorization";
  });
  const match =
    given.length === 1 ? /^Bearer +([A-Za-z0-9_-]{20,200}) *$/i.exec(given[0] ?? "") : null;
  return {
    token: match?.[1] === undefined ? null : readToken(match[1]),
    isSent: given.some((value) => /^Bearer(?: |$)/i.test(value)),
  };
}
