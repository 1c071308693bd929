import { resolve } from "node:path";
import { z } from "zod";
import type { Get } from "./types.ts";
import { flag, httpUrl, list, whole } from "./types.ts";

/** The process itself and how it is reached. */
export const serverSettings = {
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
    meaning:
      "address that the server listens on; outside production another than this machine's own lets everyone on the network log in as anyone",
  },
  PORT: {
    schema: whole(0, 65535),
    fallback: "4000",
    meaning: "port of the server; 0 takes a free one",
  },
  PUBLIC_URL: {
    schema: httpUrl,
    fallback: undefined,
    meaning: "address under which users reach the server; by default `http://HOST:PORT`",
  },
  DATA_DIR: {
    schema: z.string().min(1),
    fallback: "data",
    meaning: "folder of the embedded defaults' data",
  },
  EVENT_LOOP_TIMEOUT_MS: {
    schema: whole(0, 600_000),
    fallback: "20000",
    meaning:
      "a server or worker whose event loop is blocked for longer ends itself (log line `event loop blocked`), so that it is started again, in milliseconds; 0 switches that off",
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
    meaning:
      "allows isolated test runs by the header `X-Test-run-id`, and `cleanupTestRun`; refused in production",
  },
  INTROSPECTION: {
    schema: flag,
    fallback: undefined,
    meaning: "allows introspection; on outside production, off in it",
  },
  SHUTDOWN_SECONDS: {
    schema: whole(1, 600),
    fallback: "20",
    meaning: "time that requests and jobs in flight have to finish when a process is told to stop",
  },
  SHUTDOWN_DELAY_MS: {
    schema: whole(0, 120_000),
    fallback: undefined,
    meaning:
      "how long a server that is told to stop goes on taking requests, in milliseconds: `/readyz` says 503 and answers end their connections, so that balancers look away before the port closes; less than `SHUTDOWN_SECONDS`, of which it is a part; by default a quarter of that in production, which is 5000, and 0 outside it",
  },
} as const;

export function serverConfig(get: Get<typeof serverSettings>) {
  const production = get("NODE_ENV") === "production";
  const shutdownSeconds = get("SHUTDOWN_SECONDS");
  return {
    production,
    host: get("HOST"),
    port: get("PORT"),
    publicUrl: get("PUBLIC_URL"),
    dataDir: resolve(get("DATA_DIR") ?? "data"),
    eventLoopTimeoutMs: get("EVENT_LOOP_TIMEOUT_MS"),
    logLevel: get("LOG_LEVEL"),
    trustedProxies: get("TRUSTED_PROXIES"),
    allowedOrigins: get("ALLOWED_ORIGINS"),
    testMode: get("ENABLE_E2E_TEST_MODE"),
    introspection: get("INTROSPECTION") ?? !production,
    shutdownSeconds,
    // Kubernetes, ECS and the balancers of clouds need a few seconds to tell everyone that a server goes; nobody asks one on a
    // developer's machine to wait for them.
    shutdownDelayMs: get("SHUTDOWN_DELAY_MS") ?? (production ? shutdownSeconds * 250 : 0),
  };
}

type Server = ReturnType<typeof serverConfig>;

export function serverProblems(config: Server): string[] {
  const { allowedOrigins, production, testMode, shutdownSeconds, shutdownDelayMs } = config;
  const origins = (allowedOrigins ?? [])
    .filter((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin)
    .map(
      (origin) =>
        `ALLOWED_ORIGINS names "${origin.slice(0, 60)}", which is no origin such as https://office.example`,
    );
  // Whoever names a test run makes a schema, without a login: no production database is for that.
  const tests =
    production && testMode
      ? [
          "ENABLE_E2E_TEST_MODE must not be true in production: test runs need a server of their own",
        ]
      : [];
  const delay =
    shutdownDelayMs >= shutdownSeconds * 1000
      ? [
          `SHUTDOWN_DELAY_MS must be less than SHUTDOWN_SECONDS, which are ${shutdownSeconds * 1000} ms: what is asked last needs time for its answer`,
        ]
      : [];
  return [...origins, ...tests, ...delay];
}

/**
 * What to say of a server outside production that others on the network can reach: there is no password to stop them. Null
 * where there is nothing to say. It is said and not refused, since a container's own address has to be an open one.
 */
export function exposureWarning({ host, production }: Pick<Server, "host" | "production">) {
  if (production || /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)) return null;
  return `HOST ${host} is open to the network, and outside production whoever reaches it logs in as anyone: set HOST=127.0.0.1 or NODE_ENV=production`;
}
