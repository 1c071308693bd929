import { randomUUID } from "node:crypto";
import type { Answer, Service } from "./service.ts";

/** The default number of attempts per minute for an IP address or an account. */
export const perMinute = 30;
/** Environment with this limit, which the default test environment does not have. */
export const limited = { LOGIN_ATTEMPTS_PER_MINUTE: String(perMinute) };

/** A unique e-mail address that no user has. */
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

/** The error codes of a response. */
export function codesOf({ errors }: Answer): string[] {
  return errors?.map(({ extensions }) => extensions.code) ?? [];
}

/** The counted attempts at a step per subject, highest first. */
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

/** Uses up the attempts at a step for 127.0.0.1 until `attempts` are left. */
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
