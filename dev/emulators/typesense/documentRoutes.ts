import { setImmediate } from "node:timers/promises";
import type { Collection, WriteAction } from "./collection.ts";
import { writeActions } from "./collection.ts";
import { parseDirtyValues } from "./documents.ts";
import type { Engine } from "./engine.ts";
import type { Answer, Exchange } from "./exchange.ts";
import { created, ok } from "./exchange.ts";
import { pickFields } from "./pickFields.ts";
import { EngineProblem, isObject, parseObject } from "./problem.ts";
import type { JsonObject } from "./problem.ts";
import { splitNames } from "./searchParameters.ts";
import { search } from "./search.ts";
import type { StoredDocument } from "./storedDocument.ts";

type Handler = (engine: Engine, exchange: Exchange) => Answer | Promise<Answer>;

const collectionOf = (engine: Engine, { path }: Exchange): Collection =>
  engine.collection(path.collection ?? "");

function readAction({ query }: Exchange): WriteAction {
  const { action = "create" } = query;
  const known = writeActions.find((one) => one === action);
  if (known === undefined)
    throw new EngineProblem(400, "Parameter `action` must be a create|update|upsert.");
  return known;
}

export const createDocument: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const action = readAction(exchange);
  const dirty = parseDirtyValues(exchange.query.dirty_values);
  const document = parseObject(exchange.body);
  return created(engine.write(collection, { document, action, dirty }).document);
};

export const updateDocument: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const dirty = parseDirtyValues(exchange.query.dirty_values);
  const document = parseObject(exchange.body);
  const id = exchange.path.id ?? "";
  engine.write(collection, { document, action: "update", dirty, id });
  return ok({ ...document, id });
};

export const getDocument: Handler = (engine, exchange) => {
  const { document } = collectionOf(engine, exchange).get(exchange.path.id ?? "");
  const { include_fields: include, exclude_fields: exclude } = exchange.query;
  return ok(pickFields(document, splitNames(include), splitNames(exclude)));
};

export const removeDocument: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const id = exchange.path.id ?? "";
  try {
    return ok(engine.remove(collection, id).document);
  } catch (error) {
    const missing = error instanceof EngineProblem && error.status === 404;
    if (missing && exchange.query.ignore_not_found === "true") return ok({ id });
    throw error;
  }
};

const selectDocuments = (collection: Collection, { query }: Exchange): StoredDocument[] => {
  if (query.filter_by === undefined)
    throw new EngineProblem(400, "Parameter `filter_by` must be provided.");
  // An empty filter selects no document here, but every document in a search.
  if (query.filter_by.trim() === "") return [];
  return collection.filter(query.filter_by, query.validate_field_names !== "false");
};

export const removeDocuments: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const all = exchange.query.truncate === "true";
  const documents = all ? [...collection.all()] : selectDocuments(collection, exchange);
  engine.store.transaction(() => documents.forEach(({ id }) => engine.remove(collection, id)));
  return ok({ num_deleted: documents.length });
};

export const updateDocuments: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const dirty = parseDirtyValues(exchange.query.dirty_values);
  const change = parseObject(exchange.body);
  const documents =
    exchange.query.filter_by?.trim() === "*"
      ? [...collection.all()]
      : selectDocuments(collection, exchange);
  engine.store.transaction(() =>
    documents.forEach(({ id }) =>
      engine.write(collection, { document: { ...change, id }, action: "update", dirty }),
    ),
  );
  return ok({ num_updated: documents.length });
};

export const exportDocuments: Handler = (engine, exchange) => {
  const collection = collectionOf(engine, exchange);
  const { filter_by: filter = "", include_fields, exclude_fields } = exchange.query;
  const checks = exchange.query.validate_field_names !== "false";
  const [include, exclude] = [splitNames(include_fields), splitNames(exclude_fields)];
  return ok(
    collection
      .filter(filter, checks)
      .map(({ document }) => JSON.stringify(pickFields(document, include, exclude)))
      .join("\n"),
  );
};

const importBatchSize = 100;

/** Imports each line separately: an invalid line does not keep the others out. */
export const importDocuments: Handler = (engine, exchange) => {
  const { query } = exchange;
  collectionOf(engine, exchange);
  for (const flag of ["return_doc", "return_id"])
    if (!["true", "false"].includes(query[flag] ?? "false"))
      throw new EngineProblem(400, `Parameter \`${flag}\` must be a true|false.`);
  if (!/^[1-9]\d{0,8}$/.test(query.batch_size ?? "40"))
    throw new EngineProblem(400, "Parameter `batch_size` must be a positive integer.");
  readAction(exchange);
  return ok(importLines(engine, exchange));
};

/** Streams the results during the import, so that clients do not time out. */
async function* importLines(engine: Engine, exchange: Exchange): AsyncGenerator<string> {
  const lines = exchange.body.split("\n").filter((line) => line.trim() !== "");
  for (let at = 0; at < lines.length; at += importBatchSize) {
    // Other requests run between batches and may alter or drop the collection.
    const collection = collectionOf(engine, exchange);
    const batch = lines.slice(at, at + importBatchSize);
    const results = engine.store.transaction(() =>
      batch.map((line) => JSON.stringify(importLine(engine, collection, exchange, line))),
    );
    yield `${at === 0 ? "" : "\n"}${results.join("\n")}`;
    await setImmediate();
  }
}

function importLine(
  engine: Engine,
  collection: Collection,
  exchange: Exchange,
  line: string,
): JsonObject {
  const { query } = exchange;
  const dirty = parseDirtyValues(query.dirty_values);
  try {
    const given = parseLine(line);
    const stored = engine.write(collection, {
      document: given,
      action: readAction(exchange),
      dirty,
    });
    return {
      ...(query.return_doc === "true" && { document: stored.document }),
      ...(query.return_id === "true" && { id: stored.id }),
      success: true,
    };
  } catch (error) {
    if (!(error instanceof EngineProblem)) throw error;
    return { code: error.status, document: line, error: error.message, success: false };
  }
}

function parseLine(line: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EngineProblem(400, `Bad JSON: ${reason}`);
  }
  if (isObject(value)) return value;
  throw new EngineProblem(400, "Bad JSON: not a properly formed document.");
}

export const searchDocuments: Handler = (engine, exchange) =>
  ok(search(collectionOf(engine, exchange), exchange.query, exchange.embedded));
