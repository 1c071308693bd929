import type { Pool } from "pg";
import type { Identity } from "./identity.ts";
import { hashToken, tokenKind } from "./tokens.ts";

/**
 * Finds who holds a bearer token, with the permissions that hold at this moment: one indexed look-up, nothing is cached, so
 * that deactivation, logout and role changes count from the next request in every process.
 * Null for a token that is malformed, unknown, ended, revoked or expired, or whose user is inactive.
 */
export async function authenticate(
  pool: Pool,
  area: string,
  token: string,
  idleHours: number,
): Promise<Identity | null> {
  const kind = tokenKind(token);
  if (!kind) return null;
  const { rows } = await pool.query<{
    user_id: string;
    session_id?: string;
    token_id?: string;
    permissions: string[];
    scoped: boolean;
  }>(
    // The login role has no search path of its own; the name was checked when the area was resolved.
    kind === "session"
      ? {
          text: `select * from "${area}".authenticate($1, $2)`,
          values: [hashToken(token), idleHours],
        }
      : {
          text: `select * from "${area}".authenticate_api_token($1)`,
          values: [hashToken(token)],
        },
  );
  const [row] = rows;
  return row
    ? {
        userId: row.user_id,
        sessionId: row.session_id ?? null,
        tokenId: row.token_id ?? null,
        permissions: new Set(row.permissions),
        scoped: row.scoped,
      }
    : null;
}

/**
 * The bearer token of a request. Undefined without an Authorization header; null for one that is no single bearer token of
 * sensible length: other schemes and doubled headers are not looked at.
 */
export function bearerToken(rawHeaders: readonly string[]): string | null | undefined {
  const given = rawHeaders.filter((_value, index) => {
    const name = rawHeaders[index - 1];
    return index % 2 === 1 && name?.toLowerCase() === "authorization";
  });
  if (given.length === 0) return undefined;
  const match =
    given.length === 1 ? /^Bearer +([A-Za-z0-9_-]{20,200}) *$/i.exec(given[0] ?? "") : null;
  return match?.[1] ?? null;
}
