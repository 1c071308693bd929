import * as documents from "./documentRoutes.ts";
import type { Engine } from "./engine.ts";
import { describeCollection } from "./engine.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { created, ok } from "./exchange.ts";
import type { Keys } from "./keys.ts";
import { admitSearches, multiSearch } from "./multiSearch.ts";
import { pickFields } from "./pickFields.ts";
import { EngineProblem, parseObject } from "./problem.ts";
import type { JsonObject } from "./problem.ts";
import { splitNames } from "./searchParameters.ts";

interface Route {
  method: string;
  path: readonly string[];
  /** The action that a key must allow. */
  action: string;
  answer: (exchange: Exchange) => Answer | Promise<Answer>;
}

const adminOnly = "admin";

/** Finds the route of a request, and checks that its key allows the action. */
export function makeRouter(
  engine: Engine,
  keys: Keys,
  version: string,
): (exchange: Omit<Exchange, "path" | "embedded">, path: string) => Answer | Promise<Answer> {
  const routes = makeRoutes(engine, keys, version);
  return (request, path) => {
    if (path === "/health") return ok({ ok: true });
    const parts = readPath(path);
    for (const route of routes) {
      const named = route.method === request.method ? matchPath(route.path, parts) : null;
      if (named === null) continue;
      const exchange: Exchange = { ...request, path: named, embedded: {} };
      if (route.path[0] === "multi_search") {
        const embedded = admitSearches(keys, exchange);
        if (embedded === null) throw forbidden();
        return multiSearch(engine, exchange, embedded);
      }
      const collection = named.collection ?? nameOfNew(route, exchange);
      const scope = keys.admit({ key: request.key, action: route.action, collection });
      if (scope === null) throw forbidden();
      return route.answer({ ...exchange, embedded: scope });
    }
    throw new EngineProblem(404, "Not Found");
  };
}

const forbidden = () =>
  new EngineProblem(401, "Forbidden - a valid `x-typesense-api-key` header must be sent.");

/** The name of a new collection is in the body. */
function nameOfNew({ action }: Route, { body }: Exchange): string {
  if (action !== "collections:create") return "";
  try {
    const { name } = parseObject(body);
    return typeof name === "string" ? name : "";
  } catch {
    return "";
  }
}

function readPath(path: string): string[] {
  try {
    return path.split("/").slice(1).map(decodeURIComponent);
  } catch {
    throw new EngineProblem(404, "Not Found");
  }
}

function matchPath(
  pattern: readonly string[],
  parts: readonly string[],
): Record<string, string> | null {
  if (pattern.length !== parts.length) return null;
  const named: Record<string, string> = {};
  for (const [place, expected] of pattern.entries()) {
    const part = parts[place] ?? "";
    if (expected.startsWith(":") && part !== "") named[expected.slice(1)] = part;
    else if (expected !== part) return null;
  }
  return named;
}

function makeRoutes(engine: Engine, keys: Keys, version: string): Route[] {
  const route = (method: string, path: string, action: string, answer: Route["answer"]): Route => ({
    method,
    path: path.split("/").slice(1),
    action,
    answer,
  });
  const onDocuments = (
    method: string,
    path: string,
    action: string,
    answer: (engine: Engine, exchange: Exchange) => Answer | Promise<Answer>,
  ) =>
    route(method, `/collections/:collection/documents${path}`, `documents:${action}`, (exchange) =>
      answer(engine, exchange),
    );
  return [
    // Before the routes with `:id`, which would match too.
    onDocuments("GET", "/search", "search", documents.searchDocuments),
    onDocuments("GET", "/export", "export", documents.exportDocuments),
    onDocuments("POST", "/import", "import", documents.importDocuments),
    onDocuments("POST", "", "create", documents.createDocument),
    onDocuments("PATCH", "", "update", documents.updateDocuments),
    onDocuments("DELETE", "", "delete", documents.removeDocuments),
    onDocuments("GET", "/:id", "get", documents.getDocument),
    onDocuments("PATCH", "/:id", "update", documents.updateDocument),
    onDocuments("DELETE", "/:id", "delete", documents.removeDocument),
    route("POST", "/multi_search", "documents:search", () => ok({})),
    ...collectionRoutes(engine, route),
    ...aliasRoutes(engine, route),
    ...keyRoutes(keys, route),
    route("GET", "/debug", "debug:list", () => ok({ state: 1, version })),
    route("GET", "/stats.json", "stats.json:list", () => ok({ pending_write_batches: 0 })),
    route("GET", "/metrics.json", "metrics.json:list", () => ok(memory())),
    route("POST", "/operations/cache/clear", adminOnly, () => ok({ success: true })),
  ];
}

type MakeRoute = (method: string, path: string, action: string, answer: Route["answer"]) => Route;

function collectionRoutes(engine: Engine, route: MakeRoute): Route[] {
  const named = ({ path }: Exchange) => path.collection ?? "";
  return [
    route("GET", "/collections", "collections:list", ({ query }) => {
      const from = Number(query.offset ?? 0);
      const to = query.limit === undefined ? undefined : from + Number(query.limit);
      if (Number.isNaN(from) || Number.isNaN(to ?? 0))
        throw new EngineProblem(400, "Offset and limit param should be unsigned integer.");
      const excluded = splitNames(query.exclude_fields);
      const described = engine.list().slice(from, to).map(describeCollection);
      return ok(described.map((collection) => pickFields(collection, [], excluded)));
    }),
    route("POST", "/collections", "collections:create", ({ body }) =>
      created(describeCollection(engine.create(parseObject(body)))),
    ),
    route("GET", "/collections/:collection", "collections:get", (exchange) =>
      ok(describeCollection(engine.collection(named(exchange)))),
    ),
    route("PATCH", "/collections/:collection", "collections:update", (exchange) => {
      const change = parseObject(exchange.body);
      engine.alter(named(exchange), change);
      return ok(change);
    }),
    route("DELETE", "/collections/:collection", "collections:delete", (exchange) =>
      ok(describeCollection(engine.drop(named(exchange)))),
    ),
  ];
}

function aliasRoutes(engine: Engine, route: MakeRoute): Route[] {
  const named = ({ path }: Exchange) => path.alias ?? "";
  return [
    route("GET", "/aliases", "aliases:list", () => ok({ aliases: engine.aliases() })),
    route("GET", "/aliases/:alias", "aliases:get", (exchange) => ok(engine.alias(named(exchange)))),
    route("PUT", "/aliases/:alias", "aliases:upsert", (exchange) => {
      const { collection_name: name } = parseObject(exchange.body);
      if (typeof name !== "string")
        throw new EngineProblem(400, "Parameter `collection_name` is required.");
      return ok(engine.setAlias(named(exchange), name));
    }),
    route("DELETE", "/aliases/:alias", "aliases:delete", (exchange) =>
      ok(engine.dropAlias(named(exchange))),
    ),
  ];
}

function keyRoutes(keys: Keys, route: MakeRoute): Route[] {
  const named = ({ path }: Exchange) => path.id ?? "";
  return [
    route("GET", "/keys", "keys:list", () => ok({ keys: keys.list() })),
    route("POST", "/keys", "keys:create", ({ body }) => created(keys.create(parseObject(body)))),
    route("GET", "/keys/:id", "keys:get", (exchange) => ok(keys.get(named(exchange)))),
    route("DELETE", "/keys/:id", "keys:delete", (exchange) => ok(keys.remove(named(exchange)))),
  ];
}

function memory(): JsonObject {
  const { rss, heapUsed } = process.memoryUsage();
  return {
    typesense_memory_active_bytes: String(rss),
    typesense_memory_allocated_bytes: String(heapUsed),
  };
}
