import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import axios from "axios";
import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  ExponentialBackoff,
  circuitBreaker,
  handleWhen,
  retry,
  wrap,
} from "cockatiel";
import { Client, Errors } from "typesense";
import { traceCalls } from "../telemetry/traceCalls.ts";
import type { SearchSettings } from "../settings/search.ts";
import { circuitOf } from "../health/circuitOf.ts";
import { withPrefix } from "./prefixedSearch.ts";
import type { SearchDocument, SearchEngine } from "./search.ts";
import { SearchEngineError, SearchEngineCircuitOpenError, SearchRefusedError } from "./search.ts";

// Consecutive failures that open the circuit.
const failuresToOpen = 5;
const halfOpenAfterMs = 1_000;
// Enough for a response with a few hundred documents; exports are streamed.
const maxResponseBytes = 64 * 1024 * 1024;
/** The client sets no timeout for imports; they may take this many times as long as other calls. */
const importFactor = 12;
// Limited because ids are part of the URL.
const idsPerRequest = 50;

/** The configured engine; null when none is configured, which only development allows. */
export function makeTypesense(settings: SearchSettings): SearchEngine | null {
  const { nodes, apiKey, timeoutMs } = settings;
  if (nodes === undefined || apiKey === undefined) return null;
  const agents = [withIdleTimeout(new HttpAgent({ keepAlive: true }), timeoutMs)] as const;
  const httpsAgent = withIdleTimeout(new HttpsAgent({ keepAlive: true }), timeoutMs);
  const send = axios.getAdapter("http");
  const clientWith = (key: string) =>
    new Client({
      nodes: [...nodes],
      apiKey: key,
      connectionTimeoutSeconds: timeoutMs / 1000,
      // The client tries each node once; further retries are made here.
      numRetries: nodes.length - 1,
      retryIntervalSeconds: 0.01,
      healthcheckIntervalSeconds: 1,
      httpAgent: agents[0],
      httpsAgent,
      // A redirect would send the key elsewhere. The client's timeout covers silence only, not a slow response.
      axiosAdapter: (request) =>
        send({
          ...request,
          maxRedirects: 0,
          ...(request.responseType !== "stream" && {
            maxContentLength: maxResponseBytes,
            signal: AbortSignal.timeout(request.timeout || timeoutMs * importFactor),
          }),
        }),
      logLevel: "silent",
    });
  const client = clientWith(apiKey);
  const passing = handleWhen((error) => error instanceof SearchEngineError);
  const breaker = circuitBreaker(passing, {
    halfOpenAfter: halfOpenAfterMs,
    breaker: new ConsecutiveBreaker(failuresToOpen),
  });
  const policy = wrap(
    retry(passing, {
      maxAttempts: 1,
      backoff: new ExponentialBackoff({ initialDelay: 50, maxDelay: 100 }),
    }),
    breaker,
  );
  const ask = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await policy.execute(() =>
        call().catch((error: unknown) => Promise.reject(toEngineError(error))),
      );
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
      throw new SearchEngineCircuitOpenError(
        "The search engine has failed several times in a row; requests are paused",
        { cause: error },
      );
    }
  };

  const engine: SearchEngine = {
    collections: async () =>
      (await ask(() => client.collections().retrieve({ exclude_fields: "fields" }))).map(
        ({ name }) => name,
      ),
    async makeCollection(name, fields) {
      await valueForStatus(409, undefined, () =>
        ask(() =>
          client.collections().create({
            name,
            fields: fields.map((field) => ({ ...field, optional: true })),
            // Words joined by these characters can be found by each part.
            token_separators: ["-", "/", "'", "@", "."],
          }),
        ),
      );
    },
    dropCollection: (name) =>
      valueForStatus(404, undefined, async () => {
        await ask(() => client.collections(name).delete());
      }),
    count: (name) =>
      valueForStatus(
        404,
        null,
        async () => (await ask(() => client.collections(name).retrieve())).num_documents,
      ),
    aliased: (alias) =>
      valueForStatus(
        404,
        null,
        async () => (await ask(() => client.aliases(alias).retrieve())).collection_name,
      ),
    async setAlias(alias, collection) {
      await ask(() => client.aliases().upsert(alias, { collection_name: collection }));
    },
    dropAlias: (alias) =>
      valueForStatus(404, undefined, async () => {
        await ask(() => client.aliases(alias).delete());
      }),
    async put(collection, documents) {
      if (documents.length === 0) return [];
      const results = await ask(async () => {
        const all = await client
          .collections<SearchDocument>(collection)
          .documents()
          .import([...documents], { action: "upsert", throwOnFail: false });
        // A lack of disk or memory is not the document's fault.
        const serverFailure = all.find((one) => !one.success && one.code >= 500);
        if (serverFailure && !serverFailure.success)
          throw new SearchEngineError(`The search engine: ${serverFailure.error}`);
        return all;
      });
      return results.flatMap((result, index) =>
        result.success ? [] : [{ id: documents[index]?.id ?? "", message: result.error }],
      );
    },
    async remove(collection, ids) {
      for (let from = 0; from < ids.length; from += idsPerRequest) {
        const filter_by = `id:[${ids.slice(from, from + idsPerRequest).join(",")}]`;
        await ask(() => client.collections(collection).documents().delete({ filter_by }));
      }
    },
    async present(collection, ids) {
      const found = new Map<string, SearchDocument>();
      for (let from = 0; from < ids.length; from += idsPerRequest) {
        const filter_by = `id:[${ids.slice(from, from + idsPerRequest).join(",")}]`;
        const { hits = [] } = await ask(() =>
          client
            .collections<SearchDocument>(collection)
            .documents()
            .search({ q: "*", filter_by, per_page: idsPerRequest }),
        );
        for (const { document } of hits) found.set(document.id, document);
      }
      return found;
    },
    async *documents(collection) {
      const stream = await ask(() => client.collections(collection).documents().exportStream());
      try {
        for await (const line of createInterface({ input: stream }))
          if (line !== "") yield JSON.parse(line) as SearchDocument;
      } catch (error) {
        throw toEngineError(error);
      }
    },
    async makeKey({ value, description, collections }) {
      const made = await valueForStatus(409, null, () =>
        ask(() =>
          client.keys().create({
            value,
            description,
            actions: ["documents:search"],
            collections: [...collections],
          }),
        ),
      );
      const key = made ?? (await allKeys()).find((one) => one.description === description);
      if (key === undefined)
        throw new SearchRefusedError(
          "The search engine has another key with this value",
          409,
          null,
        );
      return String(key.id);
    },
    async find(key, words, wishes, first) {
      const { results } = await ask(() =>
        clientWith(key).multiSearch.perform<SearchDocument[]>({
          searches: wishes.map(({ collection, queryBy }) => ({
            collection,
            q: words,
            query_by: queryBy.join(","),
            per_page: first,
            // Internal field.
            exclude_fields: "visibleTo",
          })),
        }),
      );
      return results.map((result) => {
        // A failed search among several is reported inside the response.
        const { code, error } = result as { code?: number; error?: string };
        if (error !== undefined)
          throw code !== undefined && code >= 500
            ? new SearchEngineError(`The search engine: ${error}`)
            : new SearchRefusedError(
                `The search engine rejected the request: ${error}`,
                code ?? 400,
                null,
              );
        return {
          total: result.found,
          documents: (result.hits ?? []).map(({ document }) => document),
        };
      });
    },
    keys: async () =>
      (await allKeys()).map(({ id, description = "" }) => ({ id: String(id), description })),
    dropKey: (id) =>
      valueForStatus(404, undefined, async () => {
        await ask(() => client.keys(Number(id)).delete());
      }),
    async check() {
      const { ok } = await client.health.retrieve().catch((error: unknown) => {
        throw toEngineError(error);
      });
      if (!ok) throw new SearchEngineError("The search engine reports that it is unhealthy");
    },
    async version() {
      const { version } = await ask(() => client.debug.retrieve());
      return version;
    },
    circuit: () => circuitOf(breaker),
    close() {
      for (const agent of [...agents, httpsAgent]) agent.destroy();
    },
  };
  const traced = traceCalls("search", engine, [
    ...(["collections", "makeCollection", "dropCollection", "count", "aliased"] as const),
    ...(["setAlias", "dropAlias", "put", "remove", "present"] as const),
    ...(["makeKey", "find", "keys", "dropKey", "check", "version"] as const),
  ]);
  return withPrefix(traced, settings.prefix);

  async function allKeys() {
    return (await ask(() => client.keys().retrieve())).keys;
  }
}

/** Closes idle connections: the client itself would wait for an import forever. */
function withIdleTimeout<A extends HttpAgent>(agent: A, ms: number): A {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = connect(...args);
    (socket as Socket | undefined)?.setTimeout(ms, () =>
      (socket as Socket).destroy(new Error(`no data received for ${ms} ms`)),
    );
    return socket;
  };
  return agent;
}

/** Returns the result of `call`, or `instead` when the engine answers with this status. */
async function valueForStatus<T, I>(
  status: number,
  instead: I,
  call: () => Promise<T>,
): Promise<T | I> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof SearchRefusedError && error.status === status) return instead;
    throw error;
  }
}

/** The client's errors contain the whole request with keys; only message and status are kept. */
function toEngineError(error: unknown): Error {
  if (error instanceof SearchEngineError || error instanceof SearchRefusedError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const status = error instanceof Errors.TypesenseError ? error.httpStatus : undefined;
  if (status === undefined || status === 408 || status === 429 || status >= 500)
    return new SearchEngineError(
      status === undefined
        ? "The search engine is unreachable"
        : `The search engine answered ${status}`,
      { cause: new Error(message) },
    );
  const detail = message.replace(/^Request failed with HTTP code \d+ \| Server said: /, "");
  return new SearchRefusedError(
    `The search engine rejected the request (${status}): ${detail}`,
    status,
    new Error(message),
  );
}
