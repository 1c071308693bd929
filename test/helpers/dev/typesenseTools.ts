import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "@jest/globals";
import { Client } from "typesense";
import { startSearchEngine } from "../../../dev/emulators/searchEngine.ts";
import type { SearchEngine } from "../../../dev/emulators/searchEngine.ts";
import { isOlderVersion } from "../../../src/search/engineVersion.ts";
import { realSearchEngine } from "../environment.ts";
import { uniquePrefix, removeByPrefix } from "../sharedEngine.ts";

/** A search engine for one test file; no other file uses its collection names. */
export interface TestEngine {
  url: string;
  node: { host: string; port: number; protocol: string };
  adminKey: string;
  admin: Client;
  /** The official client with another key. */
  client(apiKey: string): Client;
  /** The engine's name for a collection or alias of the test. */
  named(name: string): string;
  stop(): Promise<void>;
}

/** Declares a test of Typesense since `version`. Older servers skip it with a warning. */
export function testSince(version: string): (name: string, body: () => Promise<void>) => void {
  const present = realSearchEngine?.version ?? version;
  if (!isOlderVersion(present, version)) return test;
  return (name, body) => {
    const reason = `needs Typesense ${version}, the server has ${present}`;
    console.warn(`skipped: ${name} (${reason})`);
    test.skip(`${name} (${reason})`, body);
  };
}

/** Declares a test that runs only against the emulator. */
export const testEmulator: (name: string, body: () => Promise<void>) => void =
  realSearchEngine === null ? test : test.skip;

/** The real engine if one is configured; otherwise an emulator for this file. */
export async function startTestEngine(): Promise<TestEngine> {
  if (realSearchEngine === null) return startEmbeddedEngine();
  const { url, apiKey } = realSearchEngine;
  const prefix = uniquePrefix();
  const engine = at(url, apiKey, (name) => prefix + name);
  return { ...engine, stop: () => removeByPrefix(engine.admin, prefix) };
}

/** A Typesense emulator, for tests of emulator-only behaviour. */
export async function startEmbeddedEngine(): Promise<TestEngine & { restart(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "office-search-"));
  const apiKey = "administration-key-of-a-test";
  const start = (port: number): Promise<SearchEngine> =>
    startSearchEngine({ port, apiKey, dataDir });
  let running = await start(0);
  const engine = at(running.url, apiKey, (name) => name);
  return {
    ...engine,
    async restart() {
      await running.stop();
      running = await start(engine.node.port);
    },
    async stop() {
      await running.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

function at(
  url: string,
  adminKey: string,
  named: (name: string) => string,
): Omit<TestEngine, "stop"> {
  const { hostname: host, port, protocol } = new URL(url);
  const node = {
    host,
    port: Number(port) || (protocol === "https:" ? 443 : 80),
    protocol: protocol.replace(":", ""),
  };
  const client = (apiKey: string) =>
    new Client({
      nodes: [node],
      apiKey,
      // A connection from before a restart fails once; the retry opens a new one.
      numRetries: 2,
      retryIntervalSeconds: 0.01,
      connectionTimeoutSeconds: 60,
      logLevel: "silent",
    });
  return {
    ...{ url: url.replace(/\/$/, ""), node, adminKey },
    ...{ admin: client(adminKey), client, named },
  };
}

/** The status and message of a failed call. */
export async function refusal(call: Promise<unknown>): Promise<{ status: unknown; text: string }> {
  try {
    await call;
  } catch (error) {
    const { httpStatus, message } = error as { httpStatus?: number; message: string };
    return { status: httpStatus, text: message };
  }
  return { status: "no refusal", text: "" };
}
