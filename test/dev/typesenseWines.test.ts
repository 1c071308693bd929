import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { SearchParams } from "typesense/lib/Typesense/Documents.js";
import adapterModule from "typesense-instantsearch-adapter";
import { cpuTimeOfProcess } from "../helpers/cpuTime.ts";
import type { TestEngine } from "../helpers/dev/typesenseTools.ts";
import { startTestEngine } from "../helpers/dev/typesenseTools.ts";
import { readWines } from "../helpers/dev/wines.ts";
import type { ReviewedWine } from "../helpers/dev/wines.ts";

const wines = readWines();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
  await makeCollection("wines");
  await engine.admin
    .collections(engine.named("wines"))
    .documents()
    .import(wines, { action: "create" });
});
afterAll(() => engine.stop());

const makeCollection = (name: string) =>
  engine.admin.collections().create({
    name: engine.named(name),
    fields: [
      { name: "name", type: "string" },
      { name: "producer", type: "string", facet: true },
      { name: "country", type: "string", facet: true, optional: true },
      { name: "vintage", type: "int32", facet: true, optional: true },
      { name: "price", type: "float", optional: true },
      { name: "points", type: "int32" },
    ],
    default_sorting_field: "points",
  });
const search = (parameters: Partial<SearchParams<ReviewedWine>>) =>
  engine.admin
    .collections<ReviewedWine>(engine.named("wines"))
    .documents()
    .search({ q: "*", query_by: "name", ...parameters });

/** The words of a name as a user would type them, computed independently of the engine. */
const words = (name: string) =>
  name
    .normalize("NFD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .split(/\s+/)
    .map((word) => word.replaceAll(/[^a-z0-9]/g, ""));
const having = (word: string) => wines.filter(({ name }) => words(name).includes(word));
const exactly = { prefix: "false", num_typos: 0 } as const;

describe("real wines", () => {
  test("are found without accents", async () => {
    for (const word of ["chateau", "vulka"]) {
      const { found, hits } = await search({ q: word, ...exactly, per_page: 250 });
      const expected = having(word);
      expect(expected.length).toBeGreaterThan(0);
      expect(found).toBe(expected.length);
      const ids = new Set(expected.map(({ id }) => id));
      expect(hits?.every(({ document }) => ids.has(document.id))).toBe(true);
    }
  });

  test("are found by misspelt names", async () => {
    const right = having("chardonnay").length;
    for (const word of ["chardonay", "chardonnya", "shardonnay", "chradonay"]) {
      expect((await search({ q: word, ...exactly })).found).toBe(having(word).length);
      const { found, hits } = await search({ q: word, prefix: "false" });
      expect(found).toBeGreaterThanOrEqual(right);
      expect(hits?.[0]?.document.name).toContain("Chardonnay");
    }
  });

  test("are found during the typing of their names", async () => {
    for (const typed of ["sauv", "sauvi", "sauvign", "sauvignon b", "sauvignon bla"]) {
      const { hits } = await search({ q: typed });
      expect(hits?.length).toBeGreaterThan(0);
      const [first, second = ""] = typed.split(" ");
      for (const { document } of hits ?? []) {
        const has = words(document.name);
        expect(has.some((word) => word.startsWith(first ?? ""))).toBe(true);
        expect(has.some((word) => word.startsWith(second))).toBe(true);
      }
    }
  });

  test("are filtered by vintage and price, and sorted", async () => {
    const { found, hits } = await search({
      filter_by: "vintage:[2011..2012] && price:<25",
      sort_by: "price:desc,vintage:asc",
      per_page: 250,
    });
    const expected = wines.filter(
      ({ vintage = 0, price = 99 }) => vintage >= 2011 && vintage <= 2012 && price < 25,
    );
    expect(expected.length).toBeGreaterThan(0);
    expect(found).toBe(expected.length);
    const prices = (hits ?? []).map(({ document }) => document.price ?? 0);
    expect(prices).toEqual(
      expected
        .map(({ price = 0 }) => price)
        .sort((a, b) => b - a)
        .slice(0, 250),
    );
  });

  test("are counted by country, also within the matches", async () => {
    const { facet_counts: counts } = await search({
      q: "chardonnay",
      ...exactly,
      facet_by: "country",
      max_facet_values: 100,
    });
    const expected = new Map<string, number>();
    for (const { country } of having("chardonnay"))
      if (country) expected.set(country, (expected.get(country) ?? 0) + 1);
    const given = counts?.[0]?.counts ?? [];
    expect(new Map(given.map(({ value, count }) => [value, count]))).toEqual(expected);
    expect(given[0]?.count).toBe(Math.max(...expected.values()));
  });
});

interface InstantSearch {
  searchClient: {
    search(requests: object[]): Promise<{
      results: {
        nbHits: number;
        hits: { objectID: string; _highlightResult: { name: { value: string } } }[];
        facets?: Record<string, Record<string, number>>;
      }[];
    }>;
  };
}
/** The module's only export, whose position differs from its types. */
const Adapter = (adapterModule as unknown as { default: new (options: object) => InstantSearch })
  .default;

describe("the adapter for InstantSearch", () => {
  test("searches, refines and counts with a scoped key", async () => {
    const { value = "" } = await engine.admin.keys().create({
      description: engine.named("searches"),
      actions: ["documents:search"],
      collections: [engine.named("wines")],
    });
    const end = Math.floor(Date.now() / 1000) + 900;
    const { searchClient } = new Adapter({
      server: {
        apiKey: engine.admin.keys().generateScopedSearchKey(value, { expires_at: end }),
        nodes: [engine.node],
      },
      additionalSearchParameters: { query_by: "name,producer" },
    });
    const { results } = await searchClient.search([
      {
        indexName: engine.named("wines"),
        params: {
          query: "chardonay",
          facets: ["country", "vintage"],
          facetFilters: [["country:US"]],
          numericFilters: ["points>=80"],
          page: 0,
          hitsPerPage: 5,
          highlightPreTag: "__ais-highlight__",
          highlightPostTag: "__/ais-highlight__",
        },
      },
      {
        indexName: `${engine.named("wines")}/sort/price:asc`,
        params: { query: "", facets: ["country"] },
      },
    ]);
    const [refined, all] = results;
    const american = having("chardonnay").filter(({ country }) => country === "US");
    expect(refined?.nbHits).toBeGreaterThanOrEqual(american.length);
    expect(refined?.facets?.country).toEqual({ US: refined?.nbHits });
    expect(refined?.hits[0]?._highlightResult.name.value).toContain(
      "__ais-highlight__Chardonnay__/ais-highlight__",
    );
    expect(all?.nbHits).toBe(wines.length);
    const cheapest = Math.min(...wines.map(({ price = Infinity }) => price));
    expect(wines.find(({ id }) => id === all?.hits[0]?.objectID)?.price).toBe(cheapest);
  });
});

describe("fifty thousand documents", () => {
  test("are searched quickly, also during an import", async () => {
    await makeCollection("many");
    const many = Array.from({ length: 50_000 }, (_, index) => ({
      ...wines[index % wines.length],
      id: String(index),
    }));
    const state = { importing: true, searches: 0 };
    const others = (async () => {
      while (state.importing) {
        expect((await search({ q: "chardonnay" })).found).toBeGreaterThan(0);
        state.searches++;
      }
    })();
    await engine.admin
      .collections(engine.named("many"))
      .documents()
      .import(many, { action: "upsert", batch_size: 50_000 });
    state.importing = false;
    await others;
    expect(state.searches).toBeGreaterThan(1);

    const collection = engine.admin.collections<ReviewedWine>(engine.named("many")).documents();
    const queries: Partial<SearchParams<ReviewedWine>>[] = [
      { q: "chardonnay" },
      { q: "shardonay" },
      { q: "sauvignon bl" },
      { q: "*", filter_by: "vintage:2012 && price:<20", sort_by: "price:asc", facet_by: "country" },
      { q: "*", facet_by: "country,vintage,producer" },
    ];
    const spent = await cpuTimeOfProcess(async () => {
      for (const query of queries) {
        const answer = await collection.search({ q: "*", query_by: "name,producer", ...query });
        expect(answer.found).toBeGreaterThan(0);
        expect(answer.out_of).toBe(50_000);
      }
    });
    // About 50 ms each; comparing every text with the query would take several times this limit.
    expect(spent / queries.length).toBeLessThan(400);
    // The import is slow on a busy machine.
  });
});
