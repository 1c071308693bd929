import { describe, expect, test } from "@jest/globals";
import { ConfigError, readConfig, settingGroups, settings } from "../../src/config.ts";
import { exposureWarning } from "../../src/settings/server.ts";

function problems(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

test("requires no setting outside production", () => {
  expect(problems({})).toEqual([]);
  expect(readConfig({})).toMatchObject({
    production: false,
    introspection: true,
    testMode: false,
    trustedProxies: 0,
  });
});

test("treats a blank value as the default", () => {
  expect(readConfig({ PORT: "  ", DATABASE_URL: "", LOG_LEVEL: " warn " })).toMatchObject({
    port: 4000,
    logLevel: "warn",
  });
});

test("ignores variables of other programs", () => {
  expect(
    problems({ PATH: "/bin", npm_config_x: "1", PGPASSWORD: "secret", NODE_OPTIONS: "" }),
  ).toEqual([]);
});

describe("a setting", () => {
  test.each([
    ["PORT", "-1"],
    ["PORT", "65536"],
    ["PORT", "4000.5"],
    ["PORT", "0x10"],
    ["PORT", "1e3"],
    ["TRUSTED_PROXIES", "true"],
    ["TRUSTED_PROXIES", "11"],
    ["NODE_ENV", "Production"],
    ["ENABLE_E2E_TEST_MODE", "1"],
    ["DATABASE_POOL_SIZE", "0"],
    ["PUBLIC_URL", "office.example"],
    ["PUBLIC_URL", "javascript:alert(1)"],
    ["MAX_QUEUED_REQUESTS", "1e400"],
    ["MAX_QUEUED_REQUESTS", "99999999999999999999"],
    ["AI_TOKEN_PRICES", "3"],
    ["AI_TOKEN_PRICES", "3,-1"],
    ["LOG_LEVEL", "__proto__"],
    ["ALLOWED_ORIGINS", "https://office.example/path"],
    ["ALLOWED_ORIGINS", "*"],
    ["ALLOWED_ORIGINS", "https://office.example,null"],
  ])("%s rejects %p", (name, value) => {
    const found = problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(new RegExp(`^${name} `));
  });

  test("appears in the report, cut to a few words, unless it may hold a secret", () => {
    expect(problems({ PORT: "x".repeat(500) })[0]?.length).toBeLessThan(150);
    for (const name of Object.keys(settings).filter((key) => key.includes("URL")))
      for (const value of [
        "mysql://a:hunter2@b/c",
        "postgres://a:hunter2@b:999999/c",
        "postgres://a:hunter2@[/c",
        "hunter2",
      ])
        expect(problems({ [name]: value }).join("\n")).not.toContain("hunter2");
  });

  test("of a database must be a postgres:// address", () => {
    for (const url of [
      "postgres://a:b@c:999999/d",
      "postgres://a:b@[/d",
      "postgres://",
      "postgresql://a b/c",
      "http://a/b",
    ])
      expect(problems({ DATABASE_URL: url })).toEqual([
        "DATABASE_URL must be a postgres:// address",
      ]);
    for (const url of [
      "postgres://a:b@c/d",
      "postgresql://a@[::1]:5432/d?sslmode=require",
      "postgres://a:p%40ss@c:1/d",
    ])
      expect(problems({ DATABASE_URL: url })).toEqual([]);
  });
});

test("reports all problems at once", () => {
  const found = problems({ PORT: "x", MAX_QUEUED_REQUESTS: "x", LOG_LEVEL: "x", NODE_ENV: "x" });
  expect(found.map((line) => line.split(" ")[0]).sort()).toEqual([
    "LOG_LEVEL",
    "MAX_QUEUED_REQUESTS",
    "NODE_ENV",
    "PORT",
  ]);
  expect(new ConfigError(found).message).toMatch(/^The configuration has 4 problem\(s\):\n {2}- /);
});

test("allows fewer login attempts in production than outside it", () => {
  const attempts = (env: Record<string, string>) => readConfig(env).limits.loginAttemptsPerMinute;
  expect(attempts({})).toBe(3_000);
  expect(attempts({ LOGIN_ATTEMPTS_PER_MINUTE: "7" })).toBe(7);
  expect(
    attempts({ NODE_ENV: "production", DATABASE_URL: "postgres://server:secret@db:5432/office" }),
  ).toBe(30);
});

test("requires a database in production", () => {
  expect(problems({ NODE_ENV: "production" })).toContain(
    "DATABASE_URL is required in production: no embedded PostgreSQL starts there",
  );
});

test("rejects logging plans in production", () => {
  expect(problems({ NODE_ENV: "production", SQL_JSON: "explain" })).toContain(
    "SQL_JSON cannot be explain in production",
  );
  expect(readConfig({ SQL_JSON: "explain" }).sqlJson).toBe("explain");
});

test("reports all settings that a process requires in production", () => {
  const lacks = (runs: readonly ("server" | "worker")[]) => {
    try {
      readConfig({ NODE_ENV: "production" }, runs);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems.map((p) => p.split(" ")[0]);
    }
    return [];
  };
  const both = ["S3_ENDPOINT", "TYPESENSE_URL"];
  const server = ["OIDC_PROVIDERS", "PUBLIC_URL", ...both];
  const mail = ["SMTP_URL", "MAIL_FROM", "INVITATION_URL"];
  const erp = ["TENANT_ID", "ENVIRONMENT", "COMPANY_ID", "CLIENT_ID", "CLIENT_SECRET"];
  const workflow = ["PRODUCT_SYNC_WORKFLOW_URL", "PRODUCT_SYNC_WORKFLOW_SECRET"];
  const worker = [...mail, ...erp.map((name) => `ERP_${name}`), ...workflow];
  expect(lacks([])).toEqual(["DATABASE_URL"]);
  expect(lacks(["server"])).toEqual(["DATABASE_URL", ...server]);
  expect(lacks(["worker"])).toEqual(["DATABASE_URL", ...worker, ...both]);
  expect(lacks(["server", "worker"])).toEqual(["DATABASE_URL", ...server, ...worker]);
});

test("requires the key of an object store", () => {
  expect(problems({ S3_ENDPOINT: "https://s3.example", S3_ACCESS_KEY_ID: "a" })).toEqual([
    "S3_SECRET_ACCESS_KEY is required with S3_ENDPOINT",
  ]);
});

test("accepts one or several addresses of the search engine, and requires its key", () => {
  const key = { TYPESENSE_API_KEY: "sixteen-letters-or-more" };
  const read = (url: string) =>
    readConfig({ NODE_ENV: "test", ...key, TYPESENSE_URL: url }).search.nodes;
  expect(read("http://a:8108, https://b.example")).toEqual([
    { host: "a", port: 8108, protocol: "http" },
    { host: "b.example", port: 443, protocol: "https" },
  ]);
  expect(problems({ TYPESENSE_URL: "http://a:8108" })).toEqual([
    "TYPESENSE_API_KEY is required with TYPESENSE_URL",
  ]);
  for (const url of ["a:8108", "http://a/path", "http://me@a", "http://a,,http://b", "ftp://a"])
    expect(problems({ ...key, TYPESENSE_URL: url })).toEqual([
      "TYPESENSE_URL must be http(s) addresses without a path, separated by commas",
    ]);
});

test("requires https of the address of a production server, except on the same machine", () => {
  const found = (url: string, environment = "production") =>
    problems({ NODE_ENV: environment, PUBLIC_URL: url }).filter((text) => text.includes("https:"));
  expect(found("http://office.example")).toEqual([
    "PUBLIC_URL must begin with https: in production: browsers send the cookie of a login over https only",
  ]);
  for (const url of ["https://office.example", "http://127.0.0.1:4000", "http://[::1]:4000"])
    expect(found(url)).toEqual([]);
  expect(found("http://office.example", "development")).toEqual([]);
});

test("delays the shutdown by a quarter of its time-out in production", () => {
  const production = { NODE_ENV: "production", DATABASE_URL: "postgres://a@b/c" };
  const delayOf = (env: Record<string, string>) => readConfig(env).shutdownDelayMs;
  expect(delayOf({})).toBe(0);
  expect(delayOf(production)).toBe(5_000);
  expect(delayOf({ ...production, SHUTDOWN_TIMEOUT_SECONDS: "2" })).toBe(500);
  expect(delayOf({ ...production, SHUTDOWN_DELAY_MS: "0" })).toBe(0);
  expect(problems({ SHUTDOWN_TIMEOUT_SECONDS: "2", SHUTDOWN_DELAY_MS: "2000" })).toEqual([
    "SHUTDOWN_DELAY_MS must be less than SHUTDOWN_TIMEOUT_SECONDS, which are 2000 ms: the last requests need time to finish",
  ]);
});

test("rejects test mode in production only", () => {
  const on = { ENABLE_E2E_TEST_MODE: "true" };
  const refusal =
    "ENABLE_E2E_TEST_MODE must not be true in production: isolated test runs need a server outside production";
  const database = { DATABASE_URL: "postgres://a@b/c" };
  expect(problems({ ...on, ...database, NODE_ENV: "production" })).toEqual([refusal]);
  expect(problems({ ...on, ...database, NODE_ENV: "test" })).toEqual([]);
  expect(problems({ ...on, ...database })).toEqual([]);
  expect(problems({ ...database, NODE_ENV: "production", ENABLE_E2E_TEST_MODE: "false" })).toEqual(
    [],
  );
});

test.each([
  "0.0.0.0",
  "::",
  "192.0.2.7",
  "office.internal",
  "localhost.example",
  "127.0.0.1.nip.io",
])("warns of the address %s outside production only", (host) => {
  expect(exposureWarning({ host, production: false, publicUrl: undefined })).toContain(
    `HOST ${host} is open`,
  );
  expect(exposureWarning({ host, production: true, publicUrl: undefined })).toBeNull();
});

test.each(["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"])(
  "does not warn of the loopback address %s",
  (host) => {
    expect(exposureWarning({ host, production: false, publicUrl: undefined })).toBeNull();
  },
);

test("warns of a public address outside production", () => {
  const warning = (publicUrl: string) =>
    exposureWarning({ host: "127.0.0.1", production: false, publicUrl });
  expect(warning("https://office.example")).toMatch(
    /^PUBLIC_URL https:\/\/office\.example is an address for others: set NODE_ENV=production\./,
  );
  expect(warning("http://office.internal")).toBeNull();
  expect(warning("http://127.0.0.1:4000")).toBeNull();
});

test("every setting has a meaning and a valid default", () => {
  for (const [name, setting] of Object.entries(settings)) {
    expect(setting.meaning.length).toBeGreaterThan(10);
    if (setting.fallback !== undefined)
      expect([name, setting.schema.safeParse(setting.fallback).success]).toEqual([name, true]);
  }
});

test.each([
  "images.example",
  "https://images.example/",
  "https://images.example; script-src *",
  "https://*.example",
  "'unsafe-inline'",
  "*",
  "data:",
])("CONSOLE_IMAGE_HOSTS rejects %j, which would change the policy", (value) => {
  expect(problems({ CONSOLE_IMAGE_HOSTS: value })).toEqual([
    expect.stringContaining("which is not an origin such as https://images.example"),
  ]);
});

test("there are at most 75 settings of our own, each in one group", () => {
  const grouped = settingGroups.flatMap((group) => Object.keys(group.settings));
  expect(grouped.toSorted()).toEqual(Object.keys(settings).toSorted());
  // Variables that Node.js, the PostgreSQL adapter and OpenTelemetry define are not ours to merge or rename.
  const own = grouped.filter((name) => !/^(NODE_ENV$|DATAPLAN_|OTEL_)/.test(name));
  expect(own.length).toBeLessThanOrEqual(75);
});

describe("an unknown setting", () => {
  test("with a prefix of this service is a problem that names the most similar setting", () => {
    expect(problems({ EXPORT_CONCURENCY: "2", ERP_CLIENT_SECRETS: "x" })).toEqual([
      "EXPORT_CONCURENCY is not a setting: did you mean EXPORT_CONCURRENCY?",
      "ERP_CLIENT_SECRETS is not a setting: did you mean ERP_CLIENT_SECRET?",
    ]);
  });

  test("that resembles no other is a problem too", () => {
    expect(problems({ ERP_X: "1" })).toEqual(["ERP_X is not a setting"]);
  });

  test("with a prefix of other software causes a warning", () => {
    expect(readConfig({ DATABASE_MAX_POOL: "5", AI_SOMETHING_ELSE: "x" }).unknownSettings).toEqual([
      { name: "DATABASE_MAX_POOL", nearest: null, isOurs: false },
      { name: "AI_SOMETHING_ELSE", nearest: null, isOurs: false },
    ]);
  });

  test.each([
    ["S3_BUKET", "S3_BUCKET"],
    ["DATABASE_POOLSIZE", "DATABASE_POOL_SIZE"],
    ["TYPESENSE_PREFX", "TYPESENSE_PREFIX"],
  ])("%s, which misspells a setting, is a problem also with such a prefix", (name, setting) => {
    expect(problems({ [name]: "1" })).toEqual([
      `${name} is not a setting: did you mean ${setting}?`,
    ]);
  });

  test.each([
    ["METRIC_PORT", "METRICS_PORT"],
    ["LOGLEVEL", "LOG_LEVEL"],
  ])("%s, which misspells a setting without its prefix, causes a warning", (name, nearest) => {
    expect(readConfig({ [name]: "1" }).unknownSettings).toEqual([{ name, nearest, isOurs: false }]);
  });

  test.each(["NODE_OPTIONS", "OTEL_EXPORTER_OTLP_HEADERS", "SESSION_MANAGER", "HOSTNAME"])(
    "is not reported when %s is read by other software",
    (name) => {
      expect(readConfig({ [name]: "x" }).unknownSettings).toEqual([]);
    },
  );
});

test("a constant can be overridden without changing its group", () => {
  const { erp } = readConfig({}, [], { erp: { pageSize: 5 } });
  expect(erp).toMatchObject({ pageSize: 5, retries: 4 });
  expect(readConfig({}).erp.pageSize).toBe(200);
});
