import { randomUUID } from "node:crypto";
import type { Answer, Service } from "./service.ts";

/** What an address, and an account, has in a minute in production by default. */
export const perMinute = 30;
/** The environment of a service with that limit, which those of other tests do not have. */
export const limited = { LOGIN_ATTEMPTS_PER_MINUTE: String(perMinute) };

/** An e-mail address that nobody has. */
export const address = () => `${randomUUID()}@example.com`;

export function devLogin(
  service: Service,
  email: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return service.ask(`mutation ($email: String!) { devLogin(email: $email) { token } }`, {
    variables: { email },
    headers,
  });
}

/** The codes of an answer's errors. */
export function codesOf({ errors }: Answer): string[] {
  return errors?.map(({ extensions }) => extensions.code) ?? [];
}

/** How many attempts at a step are counted, for each address (or account) that made some; the most first. */
export async function attemptsAt(
  service: Service,
  step: string,
  kind: "address" | "account" = "address",
): Promise<number[]> {
  const { rows } = await service.database.pool.query<{ attempts: number }>(
    "select attempts from attempt_counts where step = $1 and subject_kind = $2 order by attempts desc",
    [step, kind],
  );
  return rows.map(({ attempts }) => attempts);
}

/** Spends all but so many of the attempts at a step that the address of the tests has. */
export async function leaveAttempts(
  service: Service,
  step: string,
  attempts: number,
): Promise<void> {
  await service.database.pool.query(
    "select count_attempt($1, '127.0.0.1', null, 1) from generate_series(1, $2)",
    [step, perMinute - attempts],
  );
}
