import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import type { TestDatabase } from "./database.ts";

/** Puts an API token straight into the database; `scopes` null is an unlimited one. Returns the secret. */
export async function insertApiToken(
  database: TestDatabase,
  userId: string,
  scopes: readonly string[] | null = null,
): Promise<{ token: string; tokenId: string }> {
  const token = makeToken("api");
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into api_tokens (user_id, name, token_hash, is_scoped, scopes, expires_at, created_by_user_id)
     values ($1, 'test', $2, $3, $4, now() + interval '1 day', $1) returning id`,
    [userId, hashToken(token), scopes !== null, scopes ?? []],
  );
  return { token, tokenId: rows[0]?.id ?? "" };
}

/** All permission keys. */
export async function allPermissions(database: TestDatabase): Promise<string[]> {
  const { rows } = await database.pool.query<{ key: string }>(
    "select key from permissions order by key",
  );
  return rows.map((row) => row.key);
}
