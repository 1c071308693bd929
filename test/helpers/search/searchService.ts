import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "typesense";
import { startSearchEngine } from "../../../dev/emulators/searchEngine.ts";
import { realSearchEngine } from "../environment.ts";
import { uniquePrefix, removeByPrefix } from "../sharedEngine.ts";
import type { Proxy } from "../proxy.ts";
import { startProxy } from "../proxy.ts";
import type { Service } from "../service.ts";
import { startService } from "../service.ts";
import { waitFor } from "../waitFor.ts";
import type { WorkerProcess } from "../workers/workerProcess.ts";
import { startWorkerProcess } from "../workers/workerProcess.ts";

/** The result of `searchConfig`. */
export interface FrontEndConfig {
  collectionName: string;
  scopedApiKey: string;
  expiresAt: string;
  nodes: { host: string; port: number; protocol: string }[];
}

/** A server, a worker and a search engine, as in a deployment; a real engine if one is configured. */
export interface SearchService {
  service: Service;
  /** A user who may search and change the searched data. */
  staff: { token: string; userId: string };
  /** The environment of worker and server. */
  env: Record<string, string>;
  /** The proxy between the engine and worker and server. */
  proxy: Proxy;
  /** Uses the admin key and bypasses the proxy. */
  admin: Client;
  /** The engine's name of a collection, with the test's prefix in a shared engine. */
  nameOf(type: string): string;
  startWorker(settings?: Record<string, string>): Promise<WorkerProcess>;
  config(type: string, token?: string, headers?: Record<string, string>): Promise<FrontEndConfig>;
  /** A browser's client with a scoped key. */
  client(key: string): Client;
  /** The ids that a browser finds, in the engine's order. */
  find(q: string, options?: Record<string, unknown> & { type?: string }): Promise<string[]>;
  /** Waits until a search finds exactly these names. */
  finds(q: string, names: string[], options?: { type?: string; field?: string }): Promise<void>;
  stop(): Promise<void>;
}

export async function startSearchService(
  settings: Readonly<Record<string, string>> = {},
): Promise<SearchService> {
  const dataDir = await mkdtemp(join(tmpdir(), "search-"));
  const apiKey = realSearchEngine?.apiKey ?? randomUUID();
  const engine = realSearchEngine
    ? { url: realSearchEngine.url, stop: async () => {} }
    : await startSearchEngine({ port: 0, apiKey, dataDir });
  const proxy = await startProxy(engine.url);
  const prefix = settings["TYPESENSE_PREFIX"] ?? (realSearchEngine ? uniquePrefix() : "");
  const env = {
    TYPESENSE_URL: new URL(proxy.url).origin,
    TYPESENSE_PUBLIC_URL: new URL(engine.url).origin,
    TYPESENSE_API_KEY: apiKey,
    TYPESENSE_PREFIX: prefix,
    ENABLE_E2E_TEST_MODE: "true",
    ...settings,
  };
  const service = await startService({ env });
  const staff = await service.login([
    ...["products.read", "products.create", "products.update", "campaigns.read", "orders.read"],
    ...["customers.read", "campaigns.create", "campaigns.delete"],
  ]);
  const clientFor = (key: string) => {
    const { hostname, port, protocol } = new URL(engine.url);
    return new Client({
      nodes: [{ host: hostname, port: Number(port), protocol: protocol.replace(":", "") }],
      apiKey: key,
      numRetries: 0,
      connectionTimeoutSeconds: 10,
      logLevel: "silent",
    });
  };
  const keys = new Map<string, FrontEndConfig>();
  const self: SearchService = {
    service,
    staff,
    env,
    proxy,
    admin: clientFor(apiKey),
    client: clientFor,
    nameOf: (type) => prefix + type,
    startWorker: (settings) => startWorkerProcess(service.database.url, { ...env, ...settings }),
    async config(type, token = staff.token, headers = {}) {
      const { data, errors } = await service.ask(
        `query ($type: String!) { searchConfig(type: $type) { collectionName scopedApiKey expiresAt nodes { host port protocol } } }`,
        { token, headers, variables: { type } },
      );
      if (errors) throw new Error(errors.map(({ message }) => message).join("; "));
      return data.searchConfig;
    },
    async find(q, { type = "products", ...options } = {}) {
      const config = keys.get(type) ?? (await self.config(type));
      keys.set(type, config);
      const { hits } = await clientFor(config.scopedApiKey)
        .collections<{ id: string }>(config.collectionName)
        .documents()
        .search({ q, query_by: "name", per_page: 100, ...options });
      return (hits ?? []).map(({ document }) => document.id);
    },
    async finds(q, names, { type = "products", field = "name" } = {}) {
      await waitFor(`a search for ${q} to find ${names.join(", ") || "nothing"}`, async () => {
        const config = keys.get(type) ?? (await self.config(type));
        keys.set(type, config);
        const found = await clientFor(config.scopedApiKey)
          .collections<Record<string, string>>(config.collectionName)
          .documents()
          .search({ q, query_by: field, per_page: 100 })
          .catch(() => null);
        if (found === null) return false;
        const there = (found.hits ?? []).map(({ document }) => document[field]).toSorted();
        return there.join("|") === names.toSorted().join("|");
      });
    },
    async stop() {
      await service.stop();
      await proxy.stop();
      if (realSearchEngine) await removeByPrefix(self.admin, prefix);
      await engine.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return self;
}
