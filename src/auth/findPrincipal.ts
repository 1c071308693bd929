import type { Pool } from "pg";
import { prepareConnection, runPipelined } from "../postgres/requestClient.ts";
import type { Identity } from "./identity.ts";
import { type PrincipalOptions, tokenParameters } from "./queryAsPrincipal.ts";
import type { TokenHash } from "./tokens.ts";

/** The result of a token look-up. */
export interface FoundPrincipal {
  /** Null for a token that is unknown, ended, revoked or expired, or whose user is inactive. */
  identity: Identity | null;
  /** The mark that a replica must have replayed; null when none was requested or the database is not a primary. */
  mark: string | null;
}

/**
 * Finds the principal of a token with its present permissions by one indexed look-up. Nothing is cached, so
 * deactivation, logout and role changes apply from the next request in every process.
 */
export type FindPrincipal = (
  tenant: string,
  token: TokenHash,
  asks?: { mark: boolean },
) => Promise<FoundPrincipal>;

interface Found {
  user_id: string | null;
  session_id?: string;
  token_id?: string;
  permissions: string[];
  scoped: boolean;
  mark: string | null;
}

export function makeFindPrincipal(pool: Pool, options: PrincipalOptions): FindPrincipal {
  return async (tenant, token, { mark } = { mark: false }) => {
    const statement = {
      // Without prepared statements one connection serves many tenant schemas.
      ...(options.prepared > 0 ? { name: `office_find_${token.kind}${mark ? "_mark" : ""}` } : {}),
      text: search(tenant, token, mark),
      values: tokenParameters(token, options),
    };
    const client = await pool.connect();
    try {
      await prepareConnection(client);
      const { rows } = await runPipelined<Found>(client, [], [statement], options.prepared);
      return foundIn(rows[0]);
    } finally {
      client.release();
    }
  };
}

function foundIn(row: Found | undefined): FoundPrincipal {
  const { user_id: userId = null, mark = null } = row ?? {};
  if (!row || userId === null) return { identity: null, mark };
  const identity: Identity = {
    userId,
    sessionId: row.session_id ?? null,
    tokenId: row.token_id ?? null,
    permissions: new Set(row.permissions),
    scoped: row.scoped,
  };
  return { identity, mark };
}

/** The login role has no search path; the tenant's name was validated when it was resolved. */
function search(tenant: string, { kind }: TokenHash, withMark: boolean): string {
  const call = kind === "session" ? "authenticate($1, $2::integer)" : "authenticate_api_token($1)";
  const mark = withMark ? `"${tenant}".write_mark()` : "null";
  return `select who.*, ${mark} as mark from (select) as always left join "${tenant}".${call} as who on true`;
}
