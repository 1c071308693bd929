import { isIP } from "node:net";
import { resolve } from "node:path";
import { z } from "zod";
import type { GetSetting } from "./types.ts";
import { baseUrl, flag, list, integer } from "./types.ts";

/** The process and its addresses. */
export const serverSettings = {
  NODE_ENV: {
    schema: z.enum(["development", "production", "test"], {
      error: "must be development, production or test",
    }),
    fallback: "development",
    meaning: "`production` disables the playground, `devLogin`, introspection and all emulators",
    usedBy: ["server", "worker", "migration", "npm start"],
  },
  HOST: {
    schema: z.string().min(1),
    fallback: "127.0.0.1",
    meaning:
      "address that the server listens on; outside production an address other than a loopback one lets everyone on the network log in as any user",
  },
  PORT: {
    schema: integer(0, 65535),
    fallback: "4000",
    meaning: "port of the server; 0 takes a free port",
  },
  PUBLIC_URL: {
    schema: baseUrl,
    fallback: undefined,
    meaning:
      "address under which users reach the server; required in production, there with `https` unless it is a loopback address; outside production the server answers for its host, IP addresses, hosts without a dot and below `localhost`, `local`, `internal` and `test` only",
    defaultNote: "`http://HOST:PORT`",
    example: "https://office.example",
    usedBy: ["server", "worker"],
  },
  DATA_DIR: {
    schema: z.string().min(1),
    fallback: "data",
    meaning: "folder of the embedded PostgreSQL and the emulators",
    usedBy: ["npm start"],
  },
  LOG_LEVEL: {
    schema: z.enum(["fatal", "error", "warn", "info", "debug", "trace", "silent"], {
      error: "must be fatal, error, warn, info, debug, trace or silent",
    }),
    fallback: "info",
    meaning:
      "lowest severity that is logged: `fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`",
    usedBy: ["server", "worker"],
  },
  TRUSTED_PROXIES: {
    schema: integer(0, 10),
    fallback: "0",
    meaning: "number of proxies before the server whose `X-Forwarded-For` is trusted",
  },
  ALLOWED_ORIGINS: {
    schema: list,
    fallback: "",
    meaning: "origins of front ends on other hosts, separated by commas (CORS)",
  },
  ENABLE_E2E_TEST_MODE: {
    schema: flag,
    fallback: "false",
    meaning:
      "allows isolated test runs by the header `X-Test-run-id`, and `cleanupTestRun`; refused in production",
  },
  SHUTDOWN_TIMEOUT_SECONDS: {
    schema: integer(1, 600),
    fallback: "20",
    meaning: "seconds that requests and jobs have to finish after SIGTERM",
    usedBy: ["server", "worker"],
  },
  SHUTDOWN_DELAY_MS: {
    schema: integer(0, 120_000),
    fallback: undefined,
    meaning:
      "milliseconds that a server continues to accept requests after SIGTERM while `/readyz` answers 503, so that load balancers remove it before its port closes; part of SHUTDOWN_TIMEOUT_SECONDS and less than it",
    defaultNote: "a quarter of SHUTDOWN_TIMEOUT_SECONDS in production (`5000`), `0` outside it",
  },
} as const;

export function serverConfig(get: GetSetting<typeof serverSettings>) {
  const production = get("NODE_ENV") === "production";
  const shutdownSeconds = get("SHUTDOWN_TIMEOUT_SECONDS");
  return {
    production,
    host: get("HOST"),
    port: get("PORT"),
    publicUrl: get("PUBLIC_URL"),
    dataDir: resolve(get("DATA_DIR") ?? "data"),
    logLevel: get("LOG_LEVEL"),
    trustedProxies: get("TRUSTED_PROXIES"),
    allowedOrigins: get("ALLOWED_ORIGINS"),
    testMode: get("ENABLE_E2E_TEST_MODE"),
    introspection: !production,
    shutdownSeconds,
    // Kubernetes, ECS and cloud load balancers need a few seconds to remove a server; a developer's machine has none.
    shutdownDelayMs: get("SHUTDOWN_DELAY_MS") ?? (production ? shutdownSeconds * 250 : 0),
  };
}

type Server = ReturnType<typeof serverConfig>;

export function serverProblems(config: Server): string[] {
  const { allowedOrigins, production, publicUrl, testMode, shutdownSeconds, shutdownDelayMs } =
    config;
  const origins = (allowedOrigins ?? [])
    .filter((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
    .map(
      (origin) =>
        `ALLOWED_ORIGINS names "${origin.slice(0, 60)}", which is not an origin such as https://office.example`,
    );
  const address =
    production &&
    publicUrl?.startsWith("http:") === true &&
    !isLoopback(new URL(publicUrl).hostname)
      ? [
          "PUBLIC_URL must begin with https: in production: browsers send the cookie of a login over https only",
        ]
      : [];
  // A test run creates a schema without a login.
  const tests =
    production && testMode
      ? [
          "ENABLE_E2E_TEST_MODE must not be true in production: isolated test runs need a server outside production",
        ]
      : [];
  const delay =
    shutdownDelayMs >= shutdownSeconds * 1000
      ? [
          `SHUTDOWN_DELAY_MS must be less than SHUTDOWN_TIMEOUT_SECONDS, which are ${shutdownSeconds * 1000} ms: the last requests need time to finish`,
        ]
      : [];
  return [...origins, ...address, ...tests, ...delay];
}

/** Whether a host name or an address is this machine's own, which others do not reach. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/**
 * Whether `devLogin` is offered, which needs no password: not in production, and not where PUBLIC_URL has a name that can
 * be registered, so that a server for others which lacks NODE_ENV is not open to all.
 */
export function offersDevLogin({
  production,
  publicUrl,
}: Pick<Server, "production" | "publicUrl">) {
  return !production && (publicUrl === undefined || isPrivateName(new URL(publicUrl).hostname));
}

/**
 * Whether nobody can register the host name: an IP address, a name without a dot, or a name below `localhost`, `local`,
 * `internal` or `test`.
 */
export function isPrivateName(name: string): boolean {
  const isPrivate = /\.(localhost|local|internal|test)$/.test(name);
  return isPrivate || !name.includes(".") || isIP(name.replace(/^\[|\]$/g, "")) > 0;
}

/**
 * The warning about a server outside production that is reachable from the network and has logins without a password;
 * null for other servers. It is not an error, because in a container the server must listen on all addresses.
 */
export function exposureWarning({
  host,
  production,
  publicUrl,
}: Pick<Server, "host" | "production" | "publicUrl">) {
  if (production) return null;
  if (!offersDevLogin({ production, publicUrl }))
    return `PUBLIC_URL ${publicUrl} is an address for others: set NODE_ENV=production. Until then \`devLogin\` is off, and the playground, introspection and the emulators are on`;
  if (isLoopback(host)) return null;
  return `HOST ${host} is open to the network, and outside production everyone there can log in as any user: set HOST=127.0.0.1 or NODE_ENV=production`;
}
