import { randomUUID } from "node:crypto";
import type { Service } from "./service.ts";

/** A unique e-mail address. */
export const address = () => `${randomUUID()}@example.com`;

/** Identity claims with a verified address. */
export const verified = (email: string, sub: string = randomUUID()) => ({
  sub,
  email,
  email_verified: true,
});

/** Creates a user; returns the id. */
export async function makeUser(
  { database }: Pick<Service, "database">,
  email: string,
  active = true,
): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    "insert into users (email, is_active) values ($1, $2) returning id",
    [email, active],
  );
  return rows[0]!.id;
}

/** Invites a user; `validity` is an interval from now. Returns the user's id. */
export async function invite(
  service: Service,
  email: string,
  validity: string,
  state = "pending",
): Promise<string> {
  const id = await makeUser(service, email, false);
  await service.database.pool.query(
    `insert into invitations (user_id, email, role_id, state, expires_at)
     select $1, $2, id, $4, now() + $3::interval from roles where name = 'Superadmin'`,
    [id, email, validity, state],
  );
  return id;
}

/** Counts rows; `text` follows `from`. */
export async function count(
  service: Service,
  text: string,
  values: unknown[] = [],
): Promise<number> {
  const { rows } = await service.database.pool.query<{ count: number }>(
    `select count(*)::integer from ${text}`,
    values,
  );
  return rows[0]!.count;
}
