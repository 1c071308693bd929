import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { KeyCreateSchema } from "typesense/lib/Typesense/Key.js";
import type { TestEngine } from "../helpers/dev/typesenseTools.ts";
import { refusal, startTestEngine, testSince } from "../helpers/dev/typesenseTools.ts";

const now = () => Math.floor(Date.now() / 1000);
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
  for (const name of ["products", "products_2", "orders"].map((one) => engine.named(one))) {
    await engine.admin.collections().create({
      name,
      fields: [
        { name: "title", type: "string" },
        { name: "shop", type: "int32" },
      ],
    });
    await engine.admin
      .collections(name)
      .documents()
      .import([
        { id: "1", title: "Red wine", shop: 1 },
        { id: "2", title: "White wine", shop: 2 },
      ]);
  }
});
afterAll(() => engine.stop());

const makeKey = async (given: Partial<KeyCreateSchema> = {}) => {
  const { value = "" } = await engine.admin.keys().create({
    description: engine.named("a key"),
    actions: ["documents:search"],
    ...given,
    collections: (given.collections ?? ["products"]).map((name) =>
      name === "*" ? name : engine.named(name),
    ),
  });
  return value;
};
const query = { q: "wine", query_by: "title" };
const find = (key: string, collection = "products", parameters: object = {}) =>
  engine
    .client(key)
    .collections(engine.named(collection))
    .documents()
    .search({ ...query, ...parameters });
const status = async (call: Promise<unknown>) => (await refusal(call)).status;
const scoped = (parent: string, parameters: object) =>
  engine.admin.keys().generateScopedSearchKey(parent, parameters);
const searchAll = (key: string, collections: string[]) =>
  engine.client(key).multiSearch.perform({
    searches: collections.map((name) => ({ collection: engine.named(name), ...query })),
  });

describe("a key of the embedded engine", () => {
  test("shows its value once, is listed by its prefix, and can be deleted", async () => {
    const made = await engine.admin.keys().create({
      description: engine.named("for the shop"),
      actions: ["documents:search"],
      collections: [engine.named("products")],
      expires_at: now() + 60,
    });
    expect(made).toMatchObject({
      id: expect.any(Number),
      description: engine.named("for the shop"),
    });
    const value = made.value ?? "";
    const shown = await engine.admin.keys(made.id).retrieve();
    expect(shown).toMatchObject({ value_prefix: value.slice(0, 4), actions: ["documents:search"] });
    expect(JSON.stringify(await engine.admin.keys().retrieve())).not.toContain(value);
    expect(await find(value)).toMatchObject({ found: 2 });
    expect(await engine.admin.keys(made.id).delete()).toEqual({ id: made.id });
    expect(await status(find(value))).toBe(401);
    expect(await status(engine.admin.keys(made.id).retrieve())).toBe(404);
  });

  test("allows only its actions", async () => {
    const searcher = engine.client(await makeKey());
    const products = searcher.collections(engine.named("products"));
    for (const call of [
      products.documents().create({ id: "3", title: "x", shop: 1 }),
      products.documents().import([{ id: "3", title: "x", shop: 1 }]),
      products.documents().export(),
      products.documents("1").retrieve(),
      products.documents("1").delete(),
      products.documents().delete({ filter_by: "shop:1" }),
      products.retrieve(),
      products.delete(),
      searcher.collections().retrieve(),
      searcher.collections().create({ name: engine.named("products"), fields: [] }),
      searcher.aliases().upsert(engine.named("a"), { collection_name: engine.named("products") }),
      searcher.keys().retrieve(),
      searcher.keys().create({ description: "", actions: ["*"], collections: ["*"] }),
    ])
      expect(await status(call)).toBe(401);
    const writer = await makeKey({ actions: ["documents:*"] });
    await engine
      .client(writer)
      .collections(engine.named("products"))
      .documents()
      .upsert({ id: "1", title: "Red wine", shop: 1 });
    expect(
      await status(engine.client(writer).collections(engine.named("products")).retrieve()),
    ).toBe(401);
    const all = await makeKey({ actions: ["*"], collections: ["*"] });
    expect(await engine.client(all).keys().retrieve()).toHaveProperty("keys");
  });

  test("allows only its collections, by name or by a pattern of the whole name", async () => {
    const one = await makeKey();
    expect(await status(find(one, "orders"))).toBe(401);
    expect(await status(find(one, "products_2"))).toBe(401);
    const pattern = await makeKey({ collections: ["products_\\d"] });
    expect(await find(pattern, "products_2")).toMatchObject({ found: 2 });
    expect(await status(find(pattern, "products"))).toBe(401);
    const broken = await makeKey({ collections: ["products_("] });
    expect(await status(find(broken))).toBe(401);
  });

  test("is rejected for a multi-search with a collection that it does not allow", async () => {
    const key = await makeKey();
    expect((await searchAll(key, ["products", "products"])).results).toHaveLength(2);
    expect(await status(searchAll(key, ["products", "orders"]))).toBe(401);
    const orders = await makeKey({ collections: ["orders"] });
    const mixed = await engine.client(key).multiSearch.perform({
      searches: [
        { collection: engine.named("products"), ...query },
        { collection: engine.named("orders"), ...query, "x-typesense-api-key": orders },
      ],
    });
    expect(mixed.results).toMatchObject([{ found: 2 }, { found: 2 }]);
    expect(await status(searchAll("wrong", []))).toBe(401);
  });

  test("expires at its time, and is rejected when it is malformed", async () => {
    const past = await makeKey({ expires_at: now() - 1 });
    expect(await status(find(past))).toBe(401);
    expect(await status(makeKey({ actions: [] }))).toBe(400);
    expect(await status(makeKey({ expires_at: -5 }))).toBe(400);
    const value = await makeKey({ value: engine.named("a-value-of-my-own") });
    expect(value).toBe(engine.named("a-value-of-my-own"));
    expect(await status(makeKey({ value }))).toBe(409);
    expect(await status(makeKey({ value: engine.adminKey }))).toBe(409);
    for (const wrong of ["", "x", "====", engine.adminKey.slice(1), "\u00e9t\u00e9"].map(
      encodeURIComponent,
    )) {
      const url = `${engine.url}/collections/${engine.named("products")}/documents/search?q=wine&query_by=title`;
      const answer = await fetch(`${url}&x-typesense-api-key=${wrong}`);
      expect(answer.status).toBe(401);
    }
  });
});

describe("a scoped key", () => {
  test("adds its filter to the search and overrides the other parameters", async () => {
    const parent = await makeKey({ collections: ["products", "orders"] });
    const key = scoped(parent, { filter_by: "shop:1", per_page: 1, exclude_fields: "shop,out_of" });
    const answer = await find(key, "products", { per_page: 10, exclude_fields: "title" });
    expect(answer).toMatchObject({
      found: 1,
      hits: [{ document: { id: "1", title: "Red wine" } }],
    });
    expect(answer).not.toHaveProperty("out_of");
    expect(answer.hits?.[0]?.document).not.toHaveProperty("shop");
    const hidden = scoped(parent, { exclude_fields: "title" });
    expect((await find(hidden)).hits?.[0]).toMatchObject({ highlights: [], highlight: {} });
    expect(await find(key, "products", { filter_by: "shop:2" })).toMatchObject({ found: 0 });
    for (const filter_by of ["shop:2 || shop:1", "shop:1) || (shop:2"])
      expect(await find(key, "products", { filter_by })).toMatchObject({
        found: 1,
        hits: [{ document: { id: "1" } }],
      });
    for (const filter_by of ["shop:2) || title:[", "(shop:2", "shop:2) || ((shop:2"])
      expect(await status(find(key, "products", { filter_by }))).toBe(400);
    const { results } = await searchAll(key, ["products", "orders"]);
    expect(results).toMatchObject([{ found: 1 }, { found: 1 }]);
  });

  // The service's keys are protected against this: see test/search/access.test.ts.
  test("loses its filter to an unclosed backtick in the search", async () => {
    const key = scoped(await makeKey(), { filter_by: "shop:1" });
    const found = await find(key, "products", { filter_by: "shop:2) || title:`" });
    expect(found).toMatchObject({ found: 1, hits: [{ document: { id: "2" } }] });
  });

  // An older server ignores such a parameter, so the key has no filter.
  testSince("28.0")("is refused with a parameter that is a list", async () => {
    const key = scoped(await makeKey(), { filter_by: ["shop:1"] });
    const { status: code, text } = await refusal(find(key));
    expect(code).toBe(400);
    expect(text).toContain("Error applying search parameters inside Scoped Search API key");
  });

  test("is rejected for writes and for other collections, in multi-searches too", async () => {
    const key = scoped(await makeKey(), { filter_by: "shop:1" });
    const products = engine.client(key).collections("products");
    expect(await status(products.documents().upsert({ id: "1", title: "x", shop: 1 }))).toBe(401);
    expect(await status(products.documents().export())).toBe(401);
    expect(await status(products.retrieve())).toBe(401);
    expect(await status(find(key, "orders"))).toBe(401);
    expect(await status(searchAll(key, ["products", "orders"]))).toBe(401);
    expect((await searchAll(key, ["products"])).results).toMatchObject([{ found: 1 }]);
  });

  test("expires at its own or its parent's time, whichever is earlier", async () => {
    const parent = await makeKey();
    expect(await find(scoped(parent, { expires_at: now() + 60 }))).toMatchObject({ found: 2 });
    expect(await status(find(scoped(parent, { expires_at: now() - 1 })))).toBe(401);
    expect(await status(find(scoped(parent, { expires_at: "never" })))).toBe(401);
    const old = await makeKey({ expires_at: now() - 1 });
    expect(await status(find(scoped(old, { expires_at: now() + 60 })))).toBe(401);
  });

  test("needs a search-only parent and unchanged parameters", async () => {
    const mighty = await makeKey({ actions: ["documents:search", "documents:get"] });
    expect(await status(find(scoped(mighty, {})))).toBe(401);
    expect(await status(find(scoped(engine.adminKey, {})))).toBe(401);
    const signed = scoped(await makeKey(), { filter_by: "shop:1" });
    const text = Buffer.from(signed, "base64").toString("utf8");
    const changed = Buffer.from(text.replace("shop:1", "shop:2")).toString("base64");
    expect(await find(signed)).toMatchObject({ found: 1 });
    expect(await status(find(changed))).toBe(401);
    const gone = await engine.admin.keys().create({
      description: engine.named(""),
      actions: ["documents:search"],
      collections: [engine.named("products")],
    });
    const orphan = scoped(gone.value ?? "", {});
    expect(await find(orphan)).toMatchObject({ found: 2 });
    await engine.admin.keys(gone.id).delete();
    expect(await status(find(orphan))).toBe(401);
  });
});
