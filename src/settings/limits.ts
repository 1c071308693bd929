import { z } from "zod";
import type { Get } from "./types.ts";
import { whole } from "./types.ts";

const rate = (most: number) =>
  z.union([z.literal("off").transform(() => null), whole(1, most)], {
    error: `must be from 1 to ${most}, or off`,
  });

/** What one request may ask for. */
export const limitSettings = {
  BODY_LIMIT_BYTES: {
    schema: whole(1_024, 104_857_600),
    fallback: "5242880",
    meaning: "largest request body, in bytes",
  },
  MAX_DOCUMENT_TOKENS: {
    schema: whole(100, 100_000),
    fallback: "4000",
    meaning: "largest GraphQL document, in tokens",
  },
  MAX_DEPTH: {
    schema: whole(3, 100),
    fallback: "14",
    meaning: "deepest nesting of a GraphQL document",
  },
  MAX_ALIASES: {
    schema: whole(0, 1_000),
    fallback: "50",
    meaning: "most aliases in a GraphQL document",
  },
  MAX_FIELDS: {
    schema: whole(10, 100_000),
    fallback: "2000",
    meaning: "most fields of a GraphQL document with its fragments expanded",
  },
  MAX_ROOT_FIELDS: {
    schema: whole(1, 200),
    fallback: "20",
    meaning: "most root fields of a GraphQL operation",
  },
  MAX_COST: {
    schema: whole(100, 100_000_000),
    fallback: "200000",
    meaning: "most nodes that a GraphQL operation may ask for, estimated from its page sizes",
  },
  MAX_VARIABLE_VALUES: {
    schema: whole(100, 10_000_000),
    fallback: "250000",
    meaning:
      "most values in all variables of a GraphQL request together; objects, lists and scalars each count as one",
  },
  REQUESTS_PER_MINUTE: {
    schema: rate(10_000_000),
    fallback: "12000",
    meaning:
      "requests that one principal (a session, an API token, or the address of someone not logged in) has in a minute at one server process, or `off`",
  },
  COST_PER_MINUTE: {
    schema: rate(1_000_000_000_000),
    fallback: "20000000",
    meaning:
      "estimated nodes that one principal may ask of one server process in a minute, or `off`",
  },
  MAX_CONCURRENT_REQUESTS: {
    schema: whole(1, 10_000),
    fallback: "40",
    meaning:
      "GraphQL requests that one server process works on at once; more than it has connections to the database (`DATABASE_POOL_SIZE`), since not all of them are in the database",
  },
  MAX_QUEUED_REQUESTS: {
    schema: whole(0, 100_000),
    fallback: "40",
    meaning:
      "GraphQL requests that wait for their turn in one server process; whoever comes then is answered 503 at once, with Retry-After",
  },
  QUEUE_TIMEOUT_MS: {
    schema: whole(10, 60_000),
    fallback: "2000",
    meaning:
      "how long a request waits for its turn before it is answered 503, in milliseconds; while the first has waited for half of that, others are answered so at once",
  },
  UPLOAD_THREADS: {
    schema: whole(1, 16),
    fallback: "1",
    meaning:
      "uploaded files (workbooks, attachments of the assistant) that one server process reads at once, each in a thread; 16 more wait, others are answered 503",
  },
  UPLOAD_MEMORY_MB: {
    schema: whole(16, 4_096),
    fallback: "512",
    meaning:
      "objects that reading an uploaded file may take, in megabytes; one that needs more is refused",
  },
  UPLOAD_TIMEOUT_MS: {
    schema: whole(100, 300_000),
    fallback: "15000",
    meaning:
      "longest time that reading an uploaded file may take, after which it is refused, and longest time that it waits for a thread, after which it is answered 503, in milliseconds",
  },
  PLAN_CACHE_SIZE: {
    schema: whole(10, 100_000),
    fallback: "200",
    meaning: "GraphQL documents whose plans are kept",
  },
  LOGIN_ATTEMPTS_PER_MINUTE: {
    schema: whole(1, 100_000),
    fallback: undefined,
    meaning:
      "attempts that one address has in a minute at each step of logging in (`bootstrapFirstUser`, `devLogin`, `/auth/login`, `/auth/callback`, `exchangeLoginCode`), and that all together have at one account (e-mail address) at the first two; counted for all servers together; 30 in production, 3000 outside it, where `devLogin` asks for nothing that could be guessed",
  },
} as const;

export function limitsConfig(get: Get<typeof limitSettings>, production: boolean) {
  return {
    bodyBytes: get("BODY_LIMIT_BYTES"),
    tokens: get("MAX_DOCUMENT_TOKENS"),
    depth: get("MAX_DEPTH"),
    aliases: get("MAX_ALIASES"),
    fields: get("MAX_FIELDS"),
    rootFields: get("MAX_ROOT_FIELDS"),
    cost: get("MAX_COST"),
    variableValues: get("MAX_VARIABLE_VALUES"),
    requestsPerMinute: get("REQUESTS_PER_MINUTE"),
    costPerMinute: get("COST_PER_MINUTE"),
    planCache: get("PLAN_CACHE_SIZE"),
    loginAttemptsPerMinute: get("LOGIN_ATTEMPTS_PER_MINUTE") ?? (production ? 30 : 3_000),
  };
}

/** What one server process takes on before it refuses. */
export function loadConfig(get: Get<typeof limitSettings>) {
  return {
    atOnce: get("MAX_CONCURRENT_REQUESTS"),
    waiting: get("MAX_QUEUED_REQUESTS"),
    waitMs: get("QUEUE_TIMEOUT_MS"),
  };
}

/** What one server process does with uploads at a time. */
export function uploadsConfig(get: Get<typeof limitSettings>) {
  return {
    threads: get("UPLOAD_THREADS"),
    memoryMb: get("UPLOAD_MEMORY_MB"),
    timeoutMs: get("UPLOAD_TIMEOUT_MS"),
    waitMs: get("UPLOAD_TIMEOUT_MS"),
  };
}
