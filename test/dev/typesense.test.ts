import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { CollectionCreateSchema } from "typesense/lib/Typesense/Collections.js";
import type { TestEngine } from "../helpers/dev/typesenseTools.ts";
import {
  refusal,
  startEmbeddedEngine,
  startTestEngine,
  testEmulator,
  testSince,
} from "../helpers/dev/typesenseTools.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

const collectionOf = <T extends object = object>(name: string) =>
  engine.admin.collections<T>(engine.named(name));
const schema = (name: string): CollectionCreateSchema => ({
  name: engine.named(name),
  fields: [
    { name: "title", type: "string" },
    { name: "year", type: "int32", optional: true, facet: true },
    { name: "tags", type: "string[]", optional: true, facet: true },
    { name: "price", type: "float", optional: true },
    { name: "listed", type: "bool", optional: true },
  ],
});
const make = async (name: string, documents: object[] = []) => {
  await engine.admin.collections().create(schema(name));
  const collection = collectionOf(name);
  if (documents.length > 0) await collection.documents().import(documents, { action: "create" });
  return collection;
};
const ask = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(engine.url + path, {
    ...init,
    headers: { "x-typesense-api-key": engine.adminKey, ...init.headers },
  });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
};
const post = (path: string, body: string) => ask(path, { method: "POST", body });

describe("collections of the embedded engine", () => {
  test("are created, described, listed, altered and dropped", async () => {
    const made = await engine.admin.collections().create(schema("made"));
    expect(made).toMatchObject({
      name: engine.named("made"),
      num_documents: 0,
      default_sorting_field: "",
    });
    expect(made.fields[1]).toMatchObject({ name: "year", type: "int32", facet: true, sort: true });
    const collection = collectionOf("made");
    await collection.documents().create({ id: "1", title: "One", year: 2001 });
    await collection.update({
      fields: [
        { name: "year", drop: true },
        { name: "grape", type: "string", optional: true },
      ],
    });
    const altered = await collection.retrieve();
    expect(altered.fields.map(({ name }) => name)).toEqual([
      "title",
      "tags",
      "price",
      "listed",
      "grape",
    ]);
    expect(altered.num_documents).toBe(1);
    expect((await engine.admin.collections().retrieve()).map(({ name }) => name)).toContain(
      engine.named("made"),
    );
    expect(await collection.delete()).toMatchObject({ name: engine.named("made") });
    expect(await refusal(collection.retrieve())).toMatchObject({ status: 404 });
  });

  testSince("27.0")("are listed without what is excluded", async () => {
    await make("brief");
    const [listed] = await engine.admin.collections().retrieve({ exclude_fields: "fields" });
    expect(listed).toMatchObject({ name: expect.any(String), num_documents: expect.any(Number) });
    expect(listed).not.toHaveProperty("fields");
  });

  testSince("29.0")("are named in the refusal when they do not exist", async () => {
    const { text } = await refusal(collectionOf("none").retrieve());
    expect(text).toContain("Collection not found");
  });

  test("are rejected for a taken name, an invalid schema or an incompatible change", async () => {
    const collection = await make("refused", [{ id: "1", title: "One" }]);
    const create = (given: object) =>
      refusal(engine.admin.collections().create(given as CollectionCreateSchema));
    expect(await create(schema("refused"))).toMatchObject({ status: 409 });
    expect(await create({ name: "x" })).toMatchObject({ status: 400 });
    expect(await create({ name: "x", fields: [] })).toMatchObject({ status: 400 });
    expect((await create({ name: "x", fields: [{ name: "a", type: "colour" }] })).text).toContain(
      "Field `a` has an invalid data type `colour`",
    );
    const needed = { fields: [{ name: "needed", type: "string" }] };
    expect(
      await refusal(collection.update(needed as Parameters<typeof collection.update>[0])),
    ).toMatchObject({ status: 400, text: expect.stringContaining("`needed`") });
    expect((await collection.retrieve()).num_documents).toBe(1);
  });

  test("are swapped behind an alias without a failing search", async () => {
    const alias = engine.named("wines");
    await make("wines_0", [{ id: "0", title: "Wine" }]);
    await engine.admin.aliases().upsert(alias, { collection_name: engine.named("wines_0") });
    const wines = collectionOf<{ id: string }>("wines").documents();
    const found = new Set<string | undefined>();
    const swaps = { left: 10 };
    const search = async () => {
      while (swaps.left > 0) {
        const { hits } = await wines.search({ q: "wine", query_by: "title" });
        found.add(hits?.[0]?.document.id);
      }
    };
    const swap = async () => {
      for (let version = 1; swaps.left > 0; version++) {
        await make(`wines_${version}`, [{ id: String(version), title: "Wine" }]);
        await engine.admin
          .aliases()
          .upsert(alias, { collection_name: engine.named(`wines_${version}`) });
        await collectionOf(`wines_${version - 1}`).delete();
        swaps.left--;
      }
    };
    await Promise.all([search(), search(), swap()]);
    expect(found.size).toBeGreaterThan(1);
    expect(found).not.toContain(undefined);
    expect(await engine.admin.aliases(alias).retrieve()).toEqual({
      name: alias,
      collection_name: engine.named("wines_10"),
    });
    await engine.admin.aliases(alias).delete();
    const left = (await engine.admin.aliases().retrieve()).aliases.map(({ name }) => name);
    expect(left).not.toContain(alias);
  });
});

describe("documents of the embedded engine", () => {
  test("are created, upserted, updated and removed by the rules of each action", async () => {
    const documents = (await make("actions")).documents();
    await documents.create({ id: "1", title: "One", year: 2001 });
    expect(await refusal(documents.create({ id: "1", title: "Again" }))).toMatchObject({
      status: 409,
      text: expect.stringContaining("A document with id 1 already exists."),
    });
    expect(await documents.upsert({ id: "1", title: "Replaced" })).toEqual({
      id: "1",
      title: "Replaced",
    });
    await documents.import([{ id: "1", year: 2003 }], { action: "emplace" });
    const one = collectionOf("actions").documents("1");
    expect(await one.retrieve()).toEqual({ id: "1", title: "Replaced", year: 2003 });
    await one.update({ year: 2004 });
    expect(await one.retrieve()).toMatchObject({ title: "Replaced", year: 2004 });
    expect(await refusal(documents.update({ id: "2", title: "None" }, {}))).toMatchObject({
      status: 404,
    });
    await one.delete();
    expect((await refusal(one.retrieve())).text).toContain("Could not find a document with id: 1");
    expect(await documents.upsert({ id: "3", title: "Three", year: null })).toEqual({
      id: "3",
      title: "Three",
    });
    const unnamed = await documents.create({ title: "Without an id" });
    expect(unnamed).toMatchObject({ id: expect.stringMatching(/^\d+$/) });
  });

  testSince("26.0")("are removed again without a refusal where that is wanted", async () => {
    await make("removed");
    const none = collectionOf("removed").documents("1");
    expect(await none.delete({ ignore_not_found: true })).toEqual({ id: "1" });
  });

  test("are imported as lines, each with its own result", async () => {
    await make("lines");
    const answer = await post(
      `/collections/${engine.named("lines")}/documents/import?action=upsert&return_id=true`,
      [
        '{"id":"1","title":"One"}',
        '{"id":"2"}',
        '{"id":"3","title":"Three","year":"soon"}',
        "{ this is no JSON",
        "[]",
        '{"id":"5","title":"Fünf","tags":["a","b"]}',
      ].join("\n"),
    );
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain("text/plain");
    const results = answer.text.split("\n").map((line) => JSON.parse(line) as object);
    expect(results).toMatchObject([
      { success: true, id: "1" },
      {
        success: false,
        code: 400,
        error: "Field `title` has been declared in the schema, but is not found in the document.",
        document: '{"id":"2"}',
      },
      { success: false, code: 400, error: "Field `year` must be an int32." },
      { success: false, code: 400, error: expect.stringContaining("Bad JSON") },
      { success: false, code: 400, error: expect.stringContaining("Bad JSON") },
      { success: true, id: "5" },
    ]);
    const exported = await collectionOf("lines").documents().export();
    expect(exported.split("\n").map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([
      "1",
      "5",
    ]);
  });

  test("keep an integer beyond 32 bits, of which an int32 field indexes the lowest 32", async () => {
    const documents = (await make("large")).documents();
    const large = { id: "1", title: "Large", year: 5_000_000_000 };
    expect(await documents.create(large)).toEqual(large);
    const indexed = await documents.search({
      ...{ q: "*", query_by: "title" },
      filter_by: `year:=${large.year | 0}`,
    });
    expect(indexed).toMatchObject({ found: 1, hits: [{ document: large }] });
  });

  test("accept values of another type only when coercion is requested", async () => {
    const documents = (await make("dirty")).documents();
    const given = { id: "1", title: 12, year: "1999", listed: "true" };
    expect(await refusal(documents.create(given))).toMatchObject({ status: 400 });
    expect(await documents.create(given, { dirty_values: "coerce_or_reject" })).toEqual({
      id: "1",
      title: "12",
      year: 1999,
      listed: true,
    });
    expect(
      await documents.upsert({ id: "2", title: "Two", year: "late" }, { dirty_values: "drop" }),
    ).toEqual({ id: "2", title: "Two" });
  });

  const years = [2001, 2002, 2003].map((year, at) => ({ id: String(at), title: "Wine", year }));

  test("are removed by a filter", async () => {
    const documents = (await make("filtered", years)).documents();
    expect(await documents.delete({ filter_by: "year:>2002" })).toEqual({ num_deleted: 1 });
    const { found } = await documents.search({ q: "*", query_by: "title" });
    expect(found).toBe(2);
  });

  test("are not removed without a filter or with an empty one", async () => {
    const documents = (await make("unfiltered", years)).documents();
    const path = `/collections/${engine.named("unfiltered")}/documents`;
    expect((await ask(path, { method: "DELETE" })).status).toBe(400);
    const empty = await ask(`${path}?filter_by=`, { method: "DELETE" });
    expect([empty.status, JSON.parse(empty.text)]).toEqual([200, { num_deleted: 0 }]);
    const { found } = await documents.search({ q: "*", query_by: "title" });
    expect(found).toBe(3);
  });

  testSince("0.25.0")("are changed by a filter", async () => {
    const documents = (await make("changed", years)).documents();
    const change = (filter_by: string) => documents.update({ title: "Changed" }, { filter_by });
    expect(await change("year:>2001")).toEqual({ num_updated: 2 });
    const { found } = await documents.search({ q: "changed", query_by: "title" });
    expect(found).toBe(2);
  });

  testSince("0.25.0")(
    "are all changed by a star, and none of them by an empty filter",
    async () => {
      await make("starred", years);
      const path = `/collections/${engine.named("starred")}/documents?filter_by=`;
      const change = async (filter: string) => {
        const body = JSON.stringify({ title: "Changed" });
        return JSON.parse((await ask(path + filter, { method: "PATCH", body })).text) as unknown;
      };
      expect(await change("")).toEqual({ num_updated: 0 });
      expect(await change("*")).toEqual({ num_updated: 3 });
    },
  );

  test("survive a restart, with collections, aliases and keys", async () => {
    const own = await startEmbeddedEngine();
    try {
      await own.admin.collections().create({
        name: "kept",
        fields: [{ name: "title", type: "string" }],
      });
      const kept = own.admin.collections("kept");
      await kept.documents().import([
        { id: "1", title: "Gone" },
        { id: "2", title: "Château" },
      ]);
      await kept.documents("1").delete();
      await own.admin.aliases().upsert("kept_alias", { collection_name: "kept" });
      const { value = "" } = await own.admin
        .keys()
        .create({ description: "kept", actions: ["documents:search"], collections: ["kept.*"] });
      await own.restart();
      const answer = await own
        .client(value)
        .collections("kept_alias")
        .documents()
        .search({ q: "chateau", query_by: "title" });
      expect(answer).toMatchObject({ found: 1, out_of: 1, hits: [{ document: { id: "2" } }] });
    } finally {
      await own.stop();
    }
  });
});

describe("the embedded engine as a server", () => {
  test("answers health checks without a key and all other requests only with one", async () => {
    expect(await engine.admin.health.retrieve()).toEqual({ ok: true });
    const without = await fetch(`${engine.url}/collections`);
    expect(without.status).toBe(401);
    expect(await without.json()).toEqual({
      message: "Forbidden - a valid `x-typesense-api-key` header must be sent.",
    });
    expect((await fetch(`${engine.url}/health`)).status).toBe(200);
    const inAddress = await fetch(
      `${engine.url}/collections?x-typesense-api-key=${engine.adminKey}`,
    );
    expect(inAddress.status).toBe(200);
    expect(await engine.admin.debug.retrieve()).toMatchObject({ state: 1 });
    expect((await ask("/nothing/here")).status).toBe(404);
  });

  test("allows requests from pages of any origin", async () => {
    const before = await fetch(`${engine.url}/multi_search`, {
      method: "OPTIONS",
      headers: {
        origin: "http://shop.example",
        "access-control-request-headers": "x-typesense-api-key",
      },
    });
    expect(before.status).toBe(200);
    expect(before.headers.get("access-control-allow-headers")).toBe("x-typesense-api-key");
    expect((await ask("/health")).headers.get("access-control-allow-origin")).toBe("*");
  });

  test("answers malformed requests with an error and continues", async () => {
    await make("sturdy", [{ id: "1", title: "One" }]);
    const sturdy = `/collections/${engine.named("sturdy")}/documents`;
    const odd = `${sturdy}/search?q=one&query_by=title&filter_by=`;
    const deep = encodeURIComponent(`${"(".repeat(20_000 / 4)}year:1`);
    const answers = await Promise.all([
      post("/collections", "{"),
      post("/collections", "null"),
      post("/collections", '{"name":"x","fields":"none"}'),
      post(sturdy, "[1]"),
      post(`${sturdy}/import?action=explode`, "{}"),
      post("/multi_search", '{"searches":7}'),
      post("/multi_search", '{"searches":[7]}'),
      post("/keys", '{"actions":[]}'),
      ask("/collections/%E0%A4%A"),
      ask(`${sturdy}/search`),
      ask(`${odd}${deep}`),
      ...[
        "year:",
        "year:>",
        "year:[1..",
        "year:[a..b]",
        "nothing:1",
        "title",
        "&&",
        "year:1 &&",
      ].map((filter) => ask(odd + encodeURIComponent(filter))),
      ...[
        "per_page=251",
        "per_page=-1",
        "page=x",
        "sort_by=title:desc",
        "sort_by=:",
        "facet_by=title",
      ].map((wrong) => ask(`${sturdy}/search?q=one&query_by=title&${wrong}`)),
      ...["num_typos=1,2,3", "query_by=nothing", "query_by=year"].map((wrong) =>
        ask(`${sturdy}/search?q=one&query_by=title&${wrong}`),
      ),
    ]);
    for (const { status, text } of answers) {
      expect([400, 404, 422]).toContain(status);
      expect(JSON.parse(text)).toEqual({ message: expect.stringMatching(/./) });
    }
    const long = await ask(`${sturdy}/search?q=${"one+".repeat(1000)}&query_by=title`);
    expect(long.status).toBe(400);
    const fine = await ask(`${odd}${encodeURIComponent("title:=`One`")}`);
    expect(JSON.parse(fine.text)).toMatchObject({ found: 1 });
  });

  // A real Typesense server never answers such a request.
  testEmulator("refuses an id of a key that is no number", async () => {
    expect((await ask("/keys/__proto__")).status).toBe(404);
    expect((await ask("/keys/__proto__", { method: "DELETE" })).status).toBe(404);
  });

  testEmulator("refuses what it does not do", async () => {
    await make("plain", [{ id: "1", title: "One", year: 1 }]);
    const search = `/collections/${engine.named("plain")}/documents/search?q=*&query_by=title`;
    for (const parameter of ["group_by=year", "pinned_hits=1:1", "infix=always"])
      expect((await ask(`${search}&${parameter}`)).status).toBe(400);
  });
});
