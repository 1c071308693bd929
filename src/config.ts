import { resolve } from "node:path";
import { z } from "zod";
import { providersSchema } from "./auth/oidc/providers.ts";
import { isReturnPrefix } from "./auth/oidc/returnAddress.ts";

/** Everything that is wrong with the configuration, in one report. */
export class ConfigError extends Error {
  override name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The configuration has ${problems.length} problem(s):\n  - ${problems.join("\n  - ")}`);
    this.problems = problems;
  }
}

const flag = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((v) => v === "true");
const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be from ${min} to ${max}`);
const postgresUrl = z
  .string()
  // One that cannot be read would be printed by the error about it, password and all.
  .refine(
    (value) => /^postgres(ql)?:\/\/[^\s]+$/.test(value) && URL.canParse(value),
    "must be a postgres:// address",
  );
const smtpUrl = z
  .string()
  .regex(/^smtps?:\/\/[^\s]+$/, "must be an smtp:// or smtps:// address")
  .refine(
    (value) => URL.canParse(value) && new URL(value).hostname !== "",
    "must be an smtp:// or smtps:// address with a host",
  );
const mailbox = z
  .string()
  .regex(
    /^(?:[^<>",;:@\r\n]{1,100} <[^\s<>@",;]+@[^\s<>@",;]+>|[^\s<>@",;]+@[^\s<>@",;]+)$/,
    "must be an e-mail address such as `Back office <office@example.com>`",
  );
const list = z.string().transform((v) =>
  v
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean),
);

/**
 * Every environment variable that the service knows: how it is read and what it means. The table in the README and the check
 * of docker-compose.yml are held against this list by tests.
 */
export const settings = {
  NODE_ENV: {
    schema: z.enum(["development", "production", "test"], {
      error: "must be development, production or test",
    }),
    fallback: "development",
    meaning:
      "`production` switches off the playground, `devLogin`, introspection and every embedded default",
  },
  HOST: {
    schema: z.string().min(1),
    fallback: "127.0.0.1",
    meaning: "address that the server listens on",
  },
  PORT: {
    schema: whole(0, 65535),
    fallback: "4000",
    meaning: "port of the server; 0 takes a free one",
  },
  PUBLIC_URL: {
    schema: z.url({ protocol: /^https?$/, error: "must be an http(s) address" }),
    fallback: undefined,
    meaning: "address under which users reach the server; by default `http://HOST:PORT`",
  },
  DATA_DIR: {
    schema: z.string().min(1),
    fallback: "data",
    meaning: "folder of the embedded defaults' data",
  },
  DATABASE_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning: "PostgreSQL 18 for the server; without it (outside production) an embedded one starts",
  },
  DATABASE_WORKER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning:
      "the worker's login, a direct connection (not through a transaction pooler); by default DATABASE_URL",
  },
  DATABASE_OWNER_URL: {
    schema: postgresUrl,
    fallback: undefined,
    meaning: "the login that migrates and makes test areas; by default DATABASE_URL",
  },
  DATABASE_SCHEMA: {
    schema: z.string().regex(/^[a-z][a-z0-9_]{0,16}$/, "must be 1 to 17 of a-z, 0-9 and _"),
    fallback: "backoffice",
    meaning: "schema of the application's tables",
  },
  DATABASE_OWN_FOLDER: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning:
      "folder with `migrations` and `logic` of one's own, applied after those of `db` wherever the product is",
  },
  DATABASE_POOL_SIZE: {
    schema: whole(1, 500),
    fallback: "10",
    meaning: "connections that one server process keeps at most",
  },
  DATABASE_STATEMENT_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "15000",
    meaning: "longest time one SQL statement of a request may run, in milliseconds",
  },
  WORKER_CONCURRENCY: {
    schema: whole(1, 100),
    fallback: "4",
    meaning: "jobs that one worker process runs at a time",
  },
  WORKER_HEARTBEAT_MS: {
    schema: whole(100, 60_000),
    fallback: "4000",
    meaning:
      "time between two signs of life of a worker, in milliseconds; one silent for six of them loses its jobs to others",
  },
  LOG_LEVEL: {
    schema: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
      error: "must be fatal, error, warn, info, debug, trace or silent",
    }),
    fallback: "info",
    meaning: "least severity that is logged",
  },
  TRUSTED_PROXIES: {
    schema: whole(0, 10),
    fallback: "0",
    meaning: "how many proxies stand before the server, whose `X-Forwarded-For` counts",
  },
  ALLOWED_ORIGINS: {
    schema: list,
    fallback: "",
    meaning: "origins of front ends in other places, separated by commas (CORS); none by default",
  },
  ENABLE_E2E_TEST_MODE: {
    schema: flag,
    fallback: "false",
    meaning: "allows isolated test runs by the header `X-Test-run-id`, and `cleanupTestRun`",
  },
  INTROSPECTION: {
    schema: flag,
    fallback: undefined,
    meaning: "allows introspection; on outside production, off in it",
  },
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
  PLAN_CACHE_SIZE: {
    schema: whole(10, 100_000),
    fallback: "200",
    meaning: "GraphQL documents whose plans are kept",
  },
  SESSION_IDLE_HOURS: {
    schema: whole(1, 720),
    fallback: "24",
    meaning: "a session ends after this many hours without a request",
  },
  SESSION_MAX_DAYS: {
    schema: whole(1, 365),
    fallback: "14",
    meaning: "a session ends after this many days in any case",
  },
  INVITATION_DAYS: {
    schema: whole(1, 365),
    fallback: "7",
    meaning: "days that an invitation is valid",
  },
  INVITATION_URL: {
    schema: z.url({ protocol: /^https?$/, error: "must be an http(s) address" }),
    fallback: undefined,
    meaning:
      "the front end's login page, to which invitations by mail lead; required by the worker in production, by default `PUBLIC_URL/auth/login`",
  },
  SMTP_URL: {
    schema: smtpUrl,
    fallback: undefined,
    meaning:
      "mail server, `smtps://user:password@host:465` or `smtp://host:25`; required by the worker in production, elsewhere mail is written to the log and to `DATA_DIR/mail`",
  },
  SMTP_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "30000",
    meaning: "longest time that handing one mail to the mail server may take, in milliseconds",
  },
  MAIL_FROM: {
    schema: mailbox,
    fallback: undefined,
    meaning:
      "sender of the service's mail, `Back office <office@example.com>`; required by the worker in production",
  },
  OIDC_PROVIDERS: {
    schema: providersSchema,
    fallback: undefined,
    meaning:
      "OpenID Connect providers to log in with: a JSON array of `{id, name, issuer, clientId, clientSecret?, scopes?}`; the callback to register there is `PUBLIC_URL/auth/callback/<id>`; without it (outside production) an embedded one starts",
  },
  OIDC_TIMEOUT_MS: {
    schema: whole(100, 60_000),
    fallback: "5000",
    meaning: "longest wait for one answer of an identity provider, in milliseconds",
  },
  OIDC_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded identity provider; 0 takes a free one and keeps to it",
  },
  ALLOWED_RETURN_URLS: {
    schema: list,
    fallback: "",
    meaning:
      "addresses of front ends to which a login may return, separated by commas: exactly this origin, and this path or one beneath it; the first is the default",
  },
  LOGIN_ATTEMPTS_PER_MINUTE: {
    schema: whole(1, 100_000),
    fallback: "30",
    meaning:
      "attempts that one address has in a minute at each step of logging in (`bootstrapFirstUser`, `devLogin`, `/auth/login`, `/auth/callback`, `exchangeLoginCode`), and that all together have at one account (e-mail address) at the first two; counted for all servers together",
  },
  AUDIT_WRITE_DAYS: {
    schema: whole(31, 36_500),
    fallback: "400",
    meaning: "days that audit rows of changes are kept",
  },
  AUDIT_READ_DAYS: {
    schema: whole(31, 36_500),
    fallback: "90",
    meaning: "days that audit rows of reads are kept",
  },
  SHUTDOWN_SECONDS: {
    schema: whole(1, 600),
    fallback: "20",
    meaning: "time that requests and jobs in flight have to finish when a process is told to stop",
  },
} as const;

type Settings = typeof settings;
type Value<K extends keyof Settings> =
  z.output<Settings[K]["schema"]> | (Settings[K]["fallback"] extends string ? never : undefined);

function read<K extends keyof Settings>(
  env: Record<string, string | undefined>,
  key: K,
  problems: string[],
): Value<K> {
  const setting = settings[key];
  const given = env[key]?.trim();
  const raw = given === undefined || given === "" ? setting.fallback : given;
  if (raw === undefined) return undefined as Value<K>;
  const parsed = setting.schema.safeParse(raw);
  if (parsed.success) return parsed.data as Value<K>;
  // The value of an address or a provider may hold a password: it is never repeated.
  const shown = /URL|OIDC_PROVIDERS/.test(key) ? "" : `, not "${raw.slice(0, 60)}"`;
  problems.push(`${key} ${parsed.error.issues[0]?.message ?? "is wrong"}${shown}`);
  return undefined as Value<K>;
}

function absolute(folder: string | undefined): string | undefined {
  return folder === undefined ? undefined : resolve(folder);
}

/** The processes that have settings of their own to ask for. */
export type ProcessRole = "server" | "worker";

/**
 * Reads the settings from the environment once, for the processes that `runs` names; other scripts name none.
 * @throws ConfigError naming all that is wrong
 */
export function readConfig(
  env: Record<string, string | undefined>,
  runs: readonly ProcessRole[] = [],
) {
  const problems: string[] = [];
  const get = <K extends keyof Settings>(key: K) => read(env, key, problems);
  const production = get("NODE_ENV") === "production";
  const databaseUrl = get("DATABASE_URL");
  const host = get("HOST");
  const port = get("PORT");
  const config = {
    production,
    host,
    port,
    publicUrl: get("PUBLIC_URL"),
    dataDir: resolve(get("DATA_DIR") ?? "data"),
    database: {
      url: databaseUrl,
      workerUrl: get("DATABASE_WORKER_URL") ?? databaseUrl,
      ownerUrl: get("DATABASE_OWNER_URL") ?? databaseUrl,
      schema: get("DATABASE_SCHEMA"),
      ownFolder: absolute(get("DATABASE_OWN_FOLDER")),
      poolSize: get("DATABASE_POOL_SIZE"),
      statementTimeoutMs: get("DATABASE_STATEMENT_TIMEOUT_MS"),
    },
    worker: { concurrency: get("WORKER_CONCURRENCY"), heartbeatMs: get("WORKER_HEARTBEAT_MS") },
    logLevel: get("LOG_LEVEL"),
    trustedProxies: get("TRUSTED_PROXIES"),
    allowedOrigins: get("ALLOWED_ORIGINS"),
    testMode: get("ENABLE_E2E_TEST_MODE"),
    introspection: get("INTROSPECTION") ?? !production,
    limits: {
      bodyBytes: get("BODY_LIMIT_BYTES"),
      tokens: get("MAX_DOCUMENT_TOKENS"),
      depth: get("MAX_DEPTH"),
      aliases: get("MAX_ALIASES"),
      fields: get("MAX_FIELDS"),
      rootFields: get("MAX_ROOT_FIELDS"),
      cost: get("MAX_COST"),
      planCache: get("PLAN_CACHE_SIZE"),
      loginAttemptsPerMinute: get("LOGIN_ATTEMPTS_PER_MINUTE"),
    },
    session: { idleHours: get("SESSION_IDLE_HOURS"), maxDays: get("SESSION_MAX_DAYS") },
    login: {
      providers: get("OIDC_PROVIDERS") ?? [],
      timeoutMs: get("OIDC_TIMEOUT_MS"),
      embeddedPort: get("OIDC_EMBEDDED_PORT"),
      returnUrls: get("ALLOWED_RETURN_URLS"),
    },
    invitationDays: get("INVITATION_DAYS"),
    invitationUrl: get("INVITATION_URL"),
    mail: {
      smtpUrl: get("SMTP_URL"),
      timeoutMs: get("SMTP_TIMEOUT_MS"),
      from: get("MAIL_FROM"),
    },
    audit: { writeDays: get("AUDIT_WRITE_DAYS"), readDays: get("AUDIT_READ_DAYS") },
    shutdownSeconds: get("SHUTDOWN_SECONDS"),
  };
  if (production && !databaseUrl && !problems.some((p) => p.startsWith("DATABASE_URL")))
    problems.push("DATABASE_URL is required in production: no embedded PostgreSQL starts there");
  for (const origin of config.allowedOrigins ?? [])
    if (!URL.canParse(origin) || new URL(origin).origin !== origin)
      problems.push(
        `ALLOWED_ORIGINS names "${origin.slice(0, 60)}", which is no origin such as https://office.example`,
      );
  for (const [index, address] of (config.login.returnUrls ?? []).entries())
    if (!isReturnPrefix(address))
      problems.push(
        `ALLOWED_RETURN_URLS: entry ${index + 1} is no plain address such as https://office.example/app`,
      );
  if (production) {
    for (const role of runs)
      for (const [name, { given, purpose }] of Object.entries(neededInProduction(config, role)))
        if (!given) problems.push(`${name} is required in production${purpose}`);
    for (const { id, issuer } of config.login.providers)
      if (!issuer.startsWith("https:"))
        problems.push(
          `OIDC_PROVIDERS: the issuer of "${id}" must be an https address in production`,
        );
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** What stands in for these elsewhere is not for production; each is asked of the process that uses it. */
function neededInProduction(
  config: Pick<Config, "login" | "publicUrl" | "mail" | "invitationUrl">,
  role: ProcessRole,
): Record<string, { given: boolean; purpose: string }> {
  // There is no other way in than a provider: nobody could log in to a server without one.
  const login = ", for logging in";
  const mail = ": the worker mails invitations";
  return role === "server"
    ? {
        OIDC_PROVIDERS: { given: config.login.providers.length > 0, purpose: login },
        ALLOWED_RETURN_URLS: { given: config.login.returnUrls.length > 0, purpose: login },
        PUBLIC_URL: { given: config.publicUrl !== undefined, purpose: login },
      }
    : {
        SMTP_URL: { given: config.mail.smtpUrl !== undefined, purpose: mail },
        MAIL_FROM: { given: config.mail.from !== undefined, purpose: mail },
        INVITATION_URL: { given: config.invitationUrl !== undefined, purpose: mail },
      };
}

export type Config = ReturnType<typeof readConfig>;
