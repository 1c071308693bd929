import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "typesense";
import { startSearchEngine } from "../../src/embedded/searchEngine.ts";
import type { SearchEngine } from "../../src/embedded/searchEngine.ts";

export const adminKey = "administration-key-of-a-test";

/** An embedded engine of a test file's own. */
export interface TestEngine {
  url: string;
  port: number;
  admin: Client;
  /** The official client with another key. */
  client(apiKey: string): Client;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestEngine(): Promise<TestEngine> {
  const dataDir = await mkdtemp(join(tmpdir(), "office-search-"));
  const start = (port: number): Promise<SearchEngine> =>
    startSearchEngine({ port, apiKey: adminKey, dataDir });
  let running = await start(0);
  const { port, url } = running;
  const client = (apiKey: string) =>
    new Client({
      nodes: [{ host: "127.0.0.1", port, protocol: "http" }],
      apiKey,
      // A connection from before a restart is closed: the next one is good.
      numRetries: 2,
      retryIntervalSeconds: 0.01,
      connectionTimeoutSeconds: 60,
      logLevel: "silent",
    });
  return {
    url,
    port,
    admin: client(adminKey),
    client,
    async restart() {
      await running.stop();
      running = await start(port);
    },
    async stop() {
      await running.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** What a call was refused with, as the client has it. */
export async function refusal(call: Promise<unknown>): Promise<{ status: unknown; text: string }> {
  try {
    await call;
  } catch (error) {
    const { httpStatus, message } = error as { httpStatus?: number; message: string };
    return { status: httpStatus, text: message };
  }
  return { status: "no refusal", text: "" };
}
