import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { integer } from "./types.ts";

const rate = (most: number) =>
  z.union([z.literal("off").transform(() => null), integer(1, most)], {
    error: `must be from 1 to ${most}, or off`,
  });

/** Rate limits and admission control of a server process. */
export const limitSettings = {
  REQUESTS_PER_MINUTE: {
    schema: rate(10_000_000),
    fallback: "12000",
    meaning:
      "requests a minute that one server process accepts from one principal (a session, an API token, or the address of an anonymous caller), or `off`",
  },
  COST_PER_MINUTE: {
    schema: rate(1_000_000_000_000),
    fallback: "20000000",
    meaning:
      "estimated nodes a minute that one principal may request from one server process, or `off`",
  },
  MAX_CONCURRENT_REQUESTS: {
    schema: integer(1, 10_000),
    fallback: "40",
    meaning:
      "GraphQL requests that one server process executes at the same time; more than DATABASE_POOL_SIZE, since not all of them use the database at once",
  },
  MAX_QUEUED_REQUESTS: {
    schema: integer(0, 100_000),
    fallback: "40",
    meaning:
      "GraphQL requests that wait in one server process; further ones get 503 with Retry-After at once",
  },
  LOGIN_ATTEMPTS_PER_MINUTE: {
    schema: integer(1, 100_000),
    fallback: undefined,
    defaultNote: "`30` in production, `3000` outside it",
    meaning:
      "attempts a minute of one address at each step of a login, and of all addresses for one account, counted for all servers together",
  },
} as const;

export function limitsConfig(
  get: GetSetting<typeof limitSettings>,
  constants: Constants["limits"],
  production: boolean,
) {
  return {
    ...constants,
    requestsPerMinute: get("REQUESTS_PER_MINUTE"),
    costPerMinute: get("COST_PER_MINUTE"),
    // Outside production `devLogin` requires no secret that could be guessed.
    loginAttemptsPerMinute: get("LOGIN_ATTEMPTS_PER_MINUTE") ?? (production ? 30 : 3_000),
  };
}

/** The bounds of admission control in one server process. */
export function loadConfig(get: GetSetting<typeof limitSettings>, constants: Constants["load"]) {
  return {
    ...constants,
    atOnce: get("MAX_CONCURRENT_REQUESTS"),
    waiting: get("MAX_QUEUED_REQUESTS"),
  };
}
