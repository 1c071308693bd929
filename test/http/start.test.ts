import { spawn } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startServerProcess } from "../helpers/service.ts";
import { exposureWarning } from "../../src/settings/server.ts";
import { banner } from "../../dev/banner.ts";
import { createDatabase } from "../helpers/database.ts";
import { compileCache, programPath, testDatabaseUrl } from "../helpers/environment.ts";

const root = join(import.meta.dirname, "../..");

/** Starts the server with only these settings and waits for its exit. */
async function start(
  env: Record<string, string>,
): Promise<{ code: number | null; output: string; ms: number }> {
  const started = performance.now();
  const child = spawn(process.execPath, ["src/server.ts"], {
    cwd: root,
    env: { PATH: programPath, ...compileCache, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output, ms: performance.now() - started };
}

test("a server with several invalid settings reports all of them, without secrets or a stack", async () => {
  const { code, output, ms } = await start({
    PORT: "70000",
    NODE_ENV: "produktion",
    DATABASE_URL: "mysql://office:hunter2secret@db/office",
    DATABASE_OWNER_URL: "postgres://owner:hunter2secret@db:999999/office",
    MAX_CONCURRENT_REQUESTS: "many",
    LOG_LEVEL: "loud",
    ENABLE_E2E_TEST_MODE: "yes",
  });
  expect(code).toBe(1);
  const lines = output.trim().split("\n");
  expect(lines[0]).toBe("The configuration has 7 problem(s):");
  for (const name of [
    "PORT",
    "NODE_ENV",
    "DATABASE_URL",
    "DATABASE_OWNER_URL",
    "MAX_CONCURRENT_REQUESTS",
    "LOG_LEVEL",
    "ENABLE_E2E_TEST_MODE",
  ])
    expect(lines.filter((line) => line.startsWith(`  - ${name} `))).toHaveLength(1);
  expect(lines).toHaveLength(8);
  expect(output).not.toMatch(/hunter2|\n +at /);
  expect(ms).toBeLessThan(60_000);
});

test("a server without a database names what provides one", async () => {
  const { code, output } = await start({ PORT: "0" });
  expect(code).toBe(1);
  expect(output).toMatch(/DATABASE_URL is required/);
});

test("a production server has no embedded defaults", async () => {
  const { code, output } = await start({ NODE_ENV: "production", PORT: "0" });
  expect(code).toBe(1);
  expect(output).toMatch(/DATABASE_URL is required in production/);
});

test("a wrong database password ends the start without logging it", async () => {
  const url = new URL(testDatabaseUrl);
  const { code, output } = await start({
    PORT: "0",
    DATABASE_URL: `postgres://nobody_at_all:hunter2secret@${url.host}/postgres`,
  });
  expect(code).toBe(1);
  expect(output).not.toContain("hunter2");
});

test("a production server refuses test mode", async () => {
  const { code, output } = await start({
    NODE_ENV: "production",
    ENABLE_E2E_TEST_MODE: "true",
    DATABASE_URL: testDatabaseUrl,
    PORT: "0",
  });
  expect(code).toBe(1);
  expect(output).toContain("ENABLE_E2E_TEST_MODE must not be true in production");
  expect(output).not.toMatch(/\n +at /);
});

test("a development server warns only when the network can reach it", async () => {
  const warning = /"level":"warn"[^\n]*is open to the network[^\n]*HOST=127.0.0.1/;
  for (const [host, warned] of [
    ["0.0.0.0", true],
    ["127.0.0.1", false],
  ] as const) {
    const service = await startServerProcess({ env: { HOST: host } });
    const output = service.output();
    await service.stop();
    expect([host, warning.test(output)]).toEqual([host, warned]);
  }
});

test("the banner repeats the server's warnings", () => {
  const shown = (warning: string | null) =>
    banner({ url: "http://0.0.0.0:4000", production: false, dataFolder: undefined, warning });
  const warning = exposureWarning({ host: "0.0.0.0", production: false, publicUrl: undefined });
  expect(shown(warning)).toMatch(/\n {2}WARNING: HOST 0\.0\.0\.0 is open to the network.*\.\n/);
  expect(shown(null)).not.toContain("WARNING");
});

test("a full disk under the log stops no server", async () => {
  const service = await startServerProcess({ logFile: "/dev/full" });
  try {
    for (let count = 0; count < 5; count++)
      expect((await service.ask("{ __typename }")).data).toEqual({ __typename: "Query" });
    expect(service.process.exitCode).toBeNull();
    // Standard error has no trace of the failed writes.
    expect(service.output()).toBe("");
  } finally {
    await service.stop();
  }
});

test("a port in use is reported in one line", async () => {
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
  const { port } = holder.address() as AddressInfo;
  const database = await createDatabase();
  try {
    const { code, output } = await start({ PORT: String(port), DATABASE_URL: database.url });
    expect(code).toBe(1);
    expect(output).toMatch(/PORT is in use by another program/);
    expect(output).not.toMatch(/\n +at /);
  } finally {
    holder.close();
    await database.drop();
  }
});

test("a database without migrations is reported in one line", async () => {
  const { code, output } = await start({ PORT: "0", DATABASE_URL: testDatabaseUrl });
  expect(code).toBe(1);
  expect(output).toMatch(/no schema "backoffice" of this release: run `npm run db:migrate` first/);
  expect(output).not.toMatch(/\n +at /);
});
