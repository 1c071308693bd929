import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { SearchEngine } from "../../dev/emulators/searchEngine.ts";
import { startSearchEngine } from "../../dev/emulators/searchEngine.ts";
import { isOlderVersion, minEngineVersion } from "../../src/search/engineVersion.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { startWorkerProcess } from "../helpers/workers/workerProcess.ts";

const apiKey = "administration-key-of-a-test";
let dataDir: string;
let engine: SearchEngine;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "search-version-"));
  engine = await startSearchEngine({ port: 0, apiKey, dataDir, version: "0.23.1" });
});
afterAll(async () => {
  await engine.stop();
  await rm(dataDir, { recursive: true });
});

const settings = () => ({ TYPESENSE_URL: engine.url, TYPESENSE_API_KEY: apiKey });

test("compares versions numerically", () => {
  for (const older of ["0.23.1", "0.24.0", "0.24.0.rc5", "v0.24.0", "0.9"])
    expect([older, isOlderVersion(older, "0.24.1")]).toEqual([older, true]);
  for (const current of ["0.24.1", "0.25.0", "26.0", "27.1", "29.0.rc12", "100.0"])
    expect([current, isOlderVersion(current, "0.24.1")]).toEqual([current, false]);
  for (const unknown of ["nightly", "", "1", "x0.1"])
    expect([unknown, isOlderVersion(unknown, "0.24.1")]).toEqual([unknown, false]);
  expect(isOlderVersion("9.0", "27.0")).toBe(true);
});

test("the server and the worker log once that the search engine is outdated", async () => {
  const service = await startService({ env: settings() });
  const worker = await startWorkerProcess(service.database.url, settings());
  try {
    for (const [name, output] of [
      ["server", () => service.output()],
      ["worker", () => worker.output()],
    ] as const) {
      const lines = await waitFor(`the warning of the ${name}`, () => {
        const found = output()
          .split("\n")
          .filter((line) => line.includes("search engine outdated"));
        return Promise.resolve(found.length > 0 && found);
      });
      expect(lines).toHaveLength(1);
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({
        level: "warn",
        version: "0.23.1",
        leastVersion: minEngineVersion,
      });
    }
  } finally {
    worker.signal("SIGTERM");
    await worker.exited;
    await service.stop();
  }
});

test("npm run doctor warns of an outdated search engine", async () => {
  const service = await startService({ env: settings() });
  try {
    const { output } = await runCommand("src/commands/doctor.ts", [], {
      DATABASE_URL: service.database.url,
      ...settings(),
    });
    expect(output).toMatch(
      new RegExp(
        `^WARNING search engine ${engine.url}: version 0\\.23\\.1 is older than 0\\.24\\.1\n +-> Update Typesense`,
        "m",
      ),
    );
  } finally {
    await service.stop();
  }
});
