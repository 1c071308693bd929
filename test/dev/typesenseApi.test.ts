import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { typesenseDescription } from "../helpers/environment.ts";
import type { Exchange } from "../helpers/dev/typesenseDescription.ts";
import { descriptionProblems, factProblems } from "../helpers/dev/typesenseDescription.ts";
import type { TestEngine } from "../helpers/dev/typesenseTools.ts";
import { startTestEngine } from "../helpers/dev/typesenseTools.ts";

// The OpenAPI description's licence forbids a copy here: `TYPESENSE_OPENAPI` names the file.
const described = typesenseDescription === "" ? test.skip : test;
if (typesenseDescription === "")
  console.warn(
    "TYPESENSE_OPENAPI names no file: the engine's answers are NOT held against Typesense's description",
  );

let engine: TestEngine;
const exchanges: Exchange[] = [];

beforeAll(async () => {
  engine = await startTestEngine();
  await talk();
});
afterAll(() => engine.stop());

/** Sends one request; `parts` replace the placeholders in braces in `operation`, in order. */
async function send(
  operation: string,
  parts: readonly string[] = [],
  {
    query = "",
    body,
    key = engine.adminKey,
  }: { query?: string; body?: unknown; key?: string } = {},
): Promise<unknown> {
  const [method = "", template = ""] = operation.split(" ");
  const left = [...parts];
  const path = template.replaceAll(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? ""));
  const response = await fetch(`${engine.url}${path}${query}`, {
    method: method.toUpperCase(),
    headers: { "x-typesense-api-key": key },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const lines = /\/(import|export)$/.test(path) && response.ok;
  const answer: unknown = lines ? text : JSON.parse(text);
  exchanges.push({ operation, status: response.status, body: answer });
  return answer;
}

/** The requests that this service and its front ends send to an engine, and their errors. */
async function talk(): Promise<void> {
  const [wines, copy, gone] = ["wines", "wines_2", "gone"].map((name) => engine.named(name));
  const one = "/collections/{collectionName}";
  const fields = [
    { name: "name", type: "string", sort: true },
    { name: "grapes", type: "string[]", optional: true, facet: true },
    { name: "year", type: "int32", optional: true, facet: true },
    { name: "price", type: "float", optional: true },
  ];
  await send("post /collections", [], { body: { name: wines, fields } });
  await send("post /collections", [], { body: { name: wines, fields } });
  await send("post /collections", [], { body: { name: copy, fields, token_separators: ["-"] } });
  await send("post /collections", [], { body: { name: gone } });
  await send("get /collections");
  await send(`get ${one}`, [wines!]);
  await send(`get ${one}`, [gone!]);
  const added = { fields: [{ name: "maker", type: "string", optional: true }] };
  await send(`patch ${one}`, [wines!], { body: added });
  await send(`patch ${one}`, [wines!], { body: { fields: [{ name: "x", type: "colour" }] } });
  await send(`patch ${one}`, [gone!], { body: added });

  const documents = `${one}/documents`;
  const rioja = { id: "1", name: "Rioja", grapes: ["Tempranillo"], year: 2012, price: 28 };
  await send(`post ${documents}`, [wines!], { body: rioja });
  await send(`post ${documents}`, [wines!], { body: rioja });
  await send(`post ${documents}`, [wines!], { body: { id: "2" } });
  await send(`post ${documents}`, [gone!], { body: rioja });
  const lines = ['{"id":"3","name":"Riesling","year":2020}', '{"id":"4"}', "no JSON"].join("\n");
  await send(`post ${documents}/import`, [wines!], { query: "?action=upsert", body: lines });
  await send(`post ${documents}/import`, [wines!], { query: "?action=explode", body: lines });
  await send(`post ${documents}/import`, [gone!], { body: lines });
  await send(`get ${documents}/export`, [wines!]);
  await send(`get ${documents}/export`, [gone!]);
  const searches = [
    "?q=rioj&query_by=name,grapes&facet_by=grapes,year",
    "?q=*&query_by=name&filter_by=year:>2000&sort_by=price:desc&per_page=1&page=2",
    "?q=tempranilo&query_by=name,grapes",
    "?q=nothing&query_by=name",
    "?q=x&query_by=name&filter_by=year:",
    "?q=x&query_by=nothing",
    "?q=x&query_by=name&per_page=251",
  ];
  for (const query of searches) await send(`get ${documents}/search`, [wines!], { query });
  await send(`get ${documents}/search`, [gone!], { query: "?q=x&query_by=name" });
  await send(`patch ${documents}`, [wines!], { query: "?filter_by=year:2012", body: { price: 5 } });
  await send(`patch ${documents}`, [gone!], { query: "?filter_by=year:2012", body: {} });
  await send(`delete ${documents}`, [wines!], { query: "?filter_by=year:2020" });
  await send(`delete ${documents}`, [wines!]);
  await send(`delete ${documents}`, [gone!], { query: "?filter_by=year:2020" });
  await send(`get ${documents}/{documentId}`, [wines!, "1"]);
  await send(`patch ${documents}/{documentId}`, [wines!, "1"], { body: { year: 2013 } });
  await send(`delete ${documents}/{documentId}`, [wines!, "1"]);
  for (const method of ["get", "patch", "delete"])
    await send(`${method} ${documents}/{documentId}`, [wines!, "1"], {
      ...(method === "patch" && { body: { year: 1 } }),
    });

  await send("put /aliases/{aliasName}", [engine.named("alias")], {
    body: { collection_name: wines },
  });
  await send("put /aliases/{aliasName}", [engine.named("alias")], { body: {} });
  await send("get /aliases");
  await send("get /aliases/{aliasName}", [engine.named("alias")]);
  await send("get /aliases/{aliasName}", [gone!]);
  await send("delete /aliases/{aliasName}", [engine.named("alias")]);
  await send("delete /aliases/{aliasName}", [engine.named("alias")]);

  const wish = {
    description: engine.named("a key"),
    actions: ["documents:search"],
    collections: [wines],
    value: engine.named("value"),
  };
  const { id } = (await send("post /keys", [], { body: wish })) as { id: number };
  await send("post /keys", [], { body: wish });
  await send("post /keys", [], { body: { actions: [] } });
  await send("get /keys");
  await send("get /keys/{keyId}", [String(id)]);
  await send("get /collections", [], { key: wish.value });
  const search = { collection: wines, q: "*", query_by: "name" };
  await send("post /multi_search", [], { key: wish.value, body: { searches: [search] } });
  await send("post /multi_search", [], {
    body: { searches: [search, { collection: gone, q: "*" }] },
  });
  await send("post /multi_search", [], { body: { searches: 7 } });
  await send("delete /keys/{keyId}", [String(id)]);
  await send("get /keys/{keyId}", [String(id)]);
  await send("delete /keys/{keyId}", [String(id)]);
  for (const path of ["/health", "/debug", "/metrics.json", "/stats.json"])
    await send(`get ${path}`);
  await send(`delete ${one}`, [wines!]);
  await send(`delete ${one}`, [wines!]);
}

test("each response matches the form that Typesense's clients expect", () => {
  expect(exchanges.flatMap(factProblems)).toEqual([]);
  const statuses = new Set(exchanges.map(({ status }) => status));
  expect([...statuses].toSorted()).toEqual([200, 201, 400, 401, 404, 409, 422]);
});

test("the check detects a wrong response", () => {
  const [operation, status] = ["post /keys", 201];
  expect(factProblems({ operation, status, body: { id: "1" } })).toEqual(
    expect.arrayContaining([
      "post /keys 201: the body must have required property 'value'",
      "post /keys 201: /id must be integer",
    ]),
  );
  expect(factProblems({ operation: "get /keys", status: 404, body: { error: "x" } })).not.toEqual(
    [],
  );
  expect(factProblems({ operation: "get /nothing", status: 200, body: {} })).not.toEqual([]);
});

described("Each answer is one that the description which Typesense publishes lists.", () => {
  expect(exchanges.flatMap(descriptionProblems)).toEqual([]);
  expect(
    descriptionProblems({ operation: "post /keys", status: 201, body: { id: "1" } }),
  ).not.toEqual([]);
  expect(descriptionProblems({ operation: "post /keys", status: 418, body: {} })).not.toEqual([]);
});
