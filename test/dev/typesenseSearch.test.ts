import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { SearchParams } from "typesense/lib/Typesense/Documents.js";
import type { TestEngine } from "../helpers/dev/typesenseTools.ts";
import { refusal, startTestEngine, testSince } from "../helpers/dev/typesenseTools.ts";

interface Wine {
  id: string;
  name: string;
  maker: string;
  country?: string;
  grapes?: string[];
  year?: number;
  price?: number;
  stock?: number;
  organic?: boolean;
}

// Invented names with accents, apostrophes, hyphens, brackets and missing values.
const wines: Wine[] = [
  {
    id: "chablis",
    name: "Chablis Premier Cru",
    maker: "Domaine Été",
    country: "France",
    grapes: ["Chardonnay"],
    year: 2018,
    price: 32.5,
    stock: 12,
    organic: true,
  },
  {
    id: "margaux",
    name: "Château d'Orée (Margaux)",
    maker: "Château d'Orée",
    country: "France",
    grapes: ["Cabernet Sauvignon", "Merlot"],
    year: 2010,
    price: 120,
    stock: 3,
    organic: false,
  },
  {
    id: "rioja",
    name: "Rioja Gran Reserva",
    maker: "Bodegas Peñasol",
    country: "Spain",
    grapes: ["Tempranillo"],
    year: 2012,
    price: 28,
    stock: 40,
    organic: false,
  },
  {
    id: "riesling",
    name: "Riesling Spätlese trocken",
    maker: "Weingut Strauß",
    country: "Germany",
    grapes: ["Riesling"],
    year: 2020,
    price: 18.75,
    stock: 60,
    organic: true,
  },
  {
    id: "napa",
    name: "Napa Valley Cabernet Sauvignon",
    maker: "Long-Row Cellars",
    country: "United States",
    grapes: ["Cabernet Sauvignon"],
    year: 2015,
    price: 85,
    stock: 7,
    organic: false,
  },
  {
    id: "champagne",
    name: "Champagne Brut",
    maker: "Chablis & Fils",
    country: "France",
    grapes: ["Pinot Noir", "Chardonnay"],
    price: 45,
    stock: 25,
  },
  {
    id: "table",
    name: "Red Table Wine",
    maker: "Sauvignon Brothers",
    year: 2010,
    grapes: ["Gamay", "Gamay"],
  },
];

let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
  await engine.admin.collections().create({
    name: engine.named("wines"),
    fields: [
      { name: "name", type: "string", sort: true },
      { name: "maker", type: "string" },
      { name: "country", type: "string", optional: true, facet: true, sort: true },
      { name: "grapes", type: "string[]", optional: true, facet: true },
      { name: "year", type: "int32", optional: true, facet: true },
      { name: "price", type: "float", optional: true, facet: true },
      { name: "stock", type: "int64", optional: true },
      { name: "organic", type: "bool", optional: true, facet: true },
    ],
  });
  await engine.admin
    .collections(engine.named("wines"))
    .documents()
    .import(wines, { action: "create" });
});
afterAll(() => engine.stop());

const search = (parameters: SearchParams<Wine>) =>
  engine.admin.collections<Wine>(engine.named("wines")).documents().search(parameters);
const ids = async (parameters: Partial<SearchParams<Wine>>) => {
  const { hits } = await search({ q: "*", query_by: "name,maker,grapes", ...parameters });
  return (hits ?? []).map(({ document }) => document.id);
};
const filtered = async (filter_by: string) => (await ids({ filter_by })).toSorted();
const refused = (parameters: Partial<SearchParams<Wine>>) => refusal(ids(parameters));

describe("the words of a search", () => {
  test("find documents with all of them, ignoring case, accents and punctuation", async () => {
    expect(await ids({ q: "CHATEAU dOree" })).toEqual(["margaux"]);
    expect(await ids({ q: "spatlese" })).toEqual(["riesling"]);
    expect(await ids({ q: "strauss" })).toEqual(["riesling"]);
    expect(await ids({ q: "peñasol rioja" })).toEqual(["rioja"]);
    expect(await ids({ q: "longrow" })).toEqual(["napa"]);
    expect(await ids({ q: "sauvignon merlot", drop_tokens_threshold: 0 })).toEqual(["margaux"]);
    expect(await ids({ q: "*" })).toHaveLength(wines.length);
    expect(await ids({ q: "burgundy", num_typos: 0 })).toEqual([]);
  });

  test("match the last word as a prefix unless prefix is off", async () => {
    expect(await ids({ q: "ries" })).toEqual(["riesling"]);
    expect(await ids({ q: "cabernet sau", query_by: "name" })).toEqual(["napa"]);
    expect(await ids({ q: "ries", prefix: "false", num_typos: 0 })).toEqual([]);
    expect(await ids({ q: "ries", query_by: "name,grapes", prefix: "false,true" })).toEqual([
      "riesling",
    ]);
    expect(
      await ids({ q: "cab sauvignon", query_by: "name", num_typos: 0, drop_tokens_threshold: 0 }),
    ).toEqual([]);
  });

  test("tolerate one typo from four letters on, and two from seven", async () => {
    const exact = { query_by: "name", prefix: "false" } as const;
    expect(await ids({ ...exact, q: "rieslign" })).toEqual(["riesling"]);
    expect(await ids({ ...exact, q: "reisling" })).toEqual(["riesling"]);
    expect(await ids({ ...exact, q: "chamgagnee" })).toEqual(["champagne"]);
    expect(await ids({ ...exact, q: "roija" })).toEqual(["rioja"]);
    expect(await ids({ ...exact, q: "rja" })).toEqual([]);
    expect(await ids({ ...exact, q: "rxoxa" })).toEqual([]);
    expect(await ids({ ...exact, q: "rixja" })).toEqual(["rioja"]);
    expect(await ids({ ...exact, q: "rixja", min_len_1typo: 6 })).toEqual([]);
    expect(await ids({ ...exact, q: "reisling", num_typos: 0 })).toEqual([]);
    expect(await ids({ ...exact, q: "chamgagnee", num_typos: 1 })).toEqual([]);
    expect(await ids({ q: "rixja", query_by: "name,maker", num_typos: "0,2" })).toEqual([]);
    expect(await ids({ ...exact, q: "rixja", typo_tokens_threshold: 0 })).toEqual([]);
  });

  test("match with typos only when there are too few exact matches", async () => {
    await engine.admin
      .collections(engine.named("wines"))
      .documents()
      .create({ id: "near", name: "Riojo", maker: "x" });
    expect(await ids({ q: "rioja", query_by: "name" })).toEqual(["rioja"]);
    expect(await ids({ q: "rioja", query_by: "name", typo_tokens_threshold: 2 })).toEqual([
      "rioja",
      "near",
    ]);
    await engine.admin.collections(engine.named("wines")).documents("near").delete();
    expect(await ids({ q: "riojo", query_by: "name" })).toEqual(["rioja"]);
  });

  test("are dropped one by one from the right while there are too few matches", async () => {
    expect(await ids({ q: "rioja zzzzz" })).toEqual(["rioja"]);
    expect(await ids({ q: "zzzzz rioja" })).toEqual([]);
    expect(await ids({ q: "rioja zzzzz", drop_tokens_threshold: 0 })).toEqual([]);
  });

  testSince("0.25.2")("are left out from the left where that is wanted", async () => {
    expect(await ids({ q: "zzzzz rioja", drop_tokens_mode: "left_to_right" })).toEqual(["rioja"]);
  });

  test("form a phrase in quotation marks and are excluded after a minus", async () => {
    expect(await ids({ q: '"cabernet sauvignon"', query_by: "name" })).toEqual(["napa"]);
    expect(await ids({ q: '"sauvignon cabernet"', query_by: "name" })).toEqual([]);
    expect(await ids({ q: "chardonnay -champagne" })).toEqual(["chablis"]);
    expect((await ids({ q: "-france -chardonnay" })).toSorted()).toEqual(
      ["margaux", "napa", "rioja", "riesling", "table"].toSorted(),
    );
  });

  test("rank by matched words, typos, proximity, exact match and field weight", async () => {
    // The name of one and the maker of another match: the first field ranks higher unless weights are set.
    expect(await ids({ q: "chablis", query_by: "name,maker" })).toEqual(["chablis", "champagne"]);
    expect(await ids({ q: "chablis", query_by: "maker,name" })).toEqual(["champagne", "chablis"]);
    expect(await ids({ q: "chablis", query_by: "name,maker", query_by_weights: "1,5" })).toEqual([
      "champagne",
      "chablis",
    ]);
    const { hits } = await search({ q: "chablis", query_by: "name,maker" });
    const [first, second] = hits ?? [];
    expect(first!.text_match_info).toMatchObject({ fields_matched: 1, tokens_matched: 1 });
    // Scores are 64-bit numbers; JavaScript would round the difference in `text_match` away.
    const score = (hit: typeof first) => BigInt(hit?.text_match_info?.score ?? 0);
    expect(score(first)).toBeGreaterThan(score(second));
    expect(score(first) >> 59n).toBe(1n);
    expect(first!.text_match).toBe(Number(score(first)));
    await engine.admin
      .collections(engine.named("wines"))
      .documents()
      .import(
        [
          { id: "whole", name: "Old Vines", maker: "x" },
          { id: "near", name: "The old vines of Anna", maker: "x" },
          { id: "apart", name: "Old hill of vines", maker: "x" },
        ],
        { action: "create" },
      );
    const order = await ids({ q: "old vines", query_by: "name" });
    expect(order).toEqual(["whole", "near", "apart"]);
    for (const id of ["apart", "near", "whole"])
      await engine.admin.collections(engine.named("wines")).documents(id).delete();
  });

  testSince("0.25.1")("rank higher with none left out", async () => {
    const documents = engine.admin.collections<Wine>(engine.named("wines")).documents();
    const names = { both: "Old hill of vines", one: "Old vines", other: "The old vines" };
    for (const [id, name] of Object.entries(names))
      await documents.create({ id, name, maker: "x" });
    const [best, ...others] = await ids({
      ...{ q: "old hill", query_by: "name" },
      drop_tokens_threshold: 3,
    });
    expect([best, others.toSorted()]).toEqual(["both", ["one", "other"]]);
    for (const id of Object.keys(names))
      await engine.admin.collections(engine.named("wines")).documents(id).delete();
  });
});

describe("filters", () => {
  test("compare numbers, ranges and lists", async () => {
    expect(await filtered("year:2010")).toEqual(["margaux", "table"]);
    expect(await filtered("year:=2010")).toEqual(["margaux", "table"]);
    expect(await filtered("price:>45")).toEqual(["margaux", "napa"]);
    expect(await filtered("price:>=45")).toEqual(["champagne", "margaux", "napa"]);
    expect(await filtered("price:<18.8")).toEqual(["riesling"]);
    expect(await filtered("year:[2012..2015]")).toEqual(["napa", "rioja"]);
    expect(await filtered("year:2012..2015")).toEqual(["napa", "rioja"]);
    expect(await filtered("year:[2010..2011, 2020]")).toEqual(["margaux", "riesling", "table"]);
    expect(await filtered("stock:[<5, >50]")).toEqual(["margaux", "riesling"]);
    expect(await filtered("organic:true")).toEqual(["chablis", "riesling"]);
    expect(await filtered("organic:!=true && price:>0")).toEqual([
      "champagne",
      "margaux",
      "napa",
      "rioja",
    ]);
  });

  testSince("0.25.0")("exclude numbers", async () => {
    const others = ["chablis", "champagne", "napa", "riesling"];
    expect(await filtered("year:!=2010")).toEqual([...others, "rioja"]);
    expect(await filtered("year:!=[2010, 2012]")).toEqual(others);
  });

  test("compare texts by words and exactly", async () => {
    expect(await filtered("maker:chateau")).toEqual(["margaux"]);
    expect(await filtered("grapes:cabernet")).toEqual(["margaux", "napa"]);
    expect(await filtered("grapes:=cabernet")).toEqual([]);
    expect(await filtered("grapes:=Cabernet Sauvignon")).toEqual(["margaux", "napa"]);
    expect(await filtered("grapes:=[Riesling, Tempranillo]")).toEqual(["riesling", "rioja"]);
    expect(await filtered("name:=`Château d'Orée (Margaux)`")).toEqual(["margaux"]);
    expect(await filtered("maker:=[`Chablis & Fils`,`Long-Row Cellars`]")).toEqual([
      "champagne",
      "napa",
    ]);
    expect(await filtered("maker:=[`Chablis && Fils`]")).toEqual(["champagne"]);
    expect(await filtered("grapes:=[`Cabernet, Sauvignon`]")).toEqual(["margaux", "napa"]);
    expect(await filtered("country:!=France")).toEqual(["napa", "riesling", "rioja", "table"]);
    expect(await filtered("id:[rioja, `napa`, nothing]")).toEqual(["napa", "rioja"]);
  });

  testSince("26.0")("compare texts by their beginning", async () => {
    expect(await filtered("name:cha*")).toEqual(["chablis", "champagne", "margaux"]);
    expect(await filtered("name:=Cha*")).toEqual(["chablis", "champagne", "margaux"]);
    expect(await filtered("name:=Mar*")).toEqual([]);
  });

  testSince("26.0")("exclude words and ids", async () => {
    expect(await filtered("maker:!chateau && country:France")).toEqual(["chablis", "champagne"]);
    expect(await filtered("id:!=rioja && year:2012")).toEqual([]);
  });

  test("read operators and parentheses in a value only between backticks", async () => {
    expect(await filtered("maker:=`Chablis && Fils`")).toEqual(["champagne"]);
    expect(await refused({ filter_by: "maker:=[Chablis && Fils]" })).toMatchObject({ status: 400 });
    // Text after an unclosed backtick is part of the value.
    expect(await filtered("year:2012 || maker:`x) && (year:1")).toEqual(["rioja"]);
  });

  test("combine with and, or and parentheses, with equal precedence of both operators", async () => {
    expect(await filtered("country:=France && price:>40")).toEqual(["champagne", "margaux"]);
    expect(await filtered("year:2012 || (country:=France && organic:true)")).toEqual([
      "chablis",
      "rioja",
    ]);
    expect(await filtered("(year:2012 || country:=France) && organic:true")).toEqual(["chablis"]);
    expect(await filtered("year:2012 || country:=France && organic:true")).toEqual(["chablis"]);
    expect(await filtered("((year:2012))")).toEqual(["rioja"]);
    expect(await filtered("")).toHaveLength(wines.length);
  });

  test("report their errors", async () => {
    const wrong = async (filter_by: string) => (await refused({ filter_by })).text;
    expect(await wrong("colour:red")).toContain(
      "Could not find a filter field named `colour` in the schema.",
    );
    expect(await wrong("year:soon")).toContain(
      "Error with filter field `year`: Numerical field has an invalid comparator.",
    );
    expect(await wrong("year:>12.5")).toContain("Error with filter field `year`: Not an int32.");
    expect(await wrong("organic:maybe")).toContain(
      "Value of filter field `organic` must be `true` or `false`.",
    );
    expect(await wrong("(year:1")).toContain("unbalanced parentheses");
    expect(await wrong("year:1)")).toContain("unbalanced parentheses");
    expect(await wrong("year:1 && || year:2")).toContain("unbalanced");
    expect(await wrong("name:=")).toContain("Filter value cannot be empty.");
  });

  testSince("0.25.0")("have at most a hundred conditions and operators", async () => {
    const years = (count: number) => Array.from({ length: count }, () => "year:2012").join(" || ");
    expect(await filtered(years(50))).toEqual(["rioja"]);
    expect((await refused({ filter_by: years(51) })).text).toContain("too many operations");
  });

  testSince("28.0")("match nothing by an unknown field where that is let pass", async () => {
    expect(await ids({ filter_by: "colour:red", validate_field_names: false })).toEqual([]);
  });
});

describe("the order of a search", () => {
  test("has up to three fields, with missing values last unless requested first", async () => {
    expect(await ids({ sort_by: "price:asc" })).toEqual([
      "riesling",
      "rioja",
      "chablis",
      "champagne",
      "napa",
      "margaux",
      "table",
    ]);
    expect(await ids({ sort_by: "price:desc" })).toEqual([
      "margaux",
      "napa",
      "champagne",
      "chablis",
      "rioja",
      "riesling",
      "table",
    ]);
    expect((await ids({ sort_by: "price(missing_values: first):asc" }))[0]).toBe("table");
    expect(await ids({ sort_by: "year:asc,price:asc", filter_by: "year:<2013" })).toEqual([
      "margaux",
      "table",
      "rioja",
    ]);
    expect((await ids({ sort_by: "name:asc" })).slice(0, 3)).toEqual([
      "chablis",
      "champagne",
      "margaux",
    ]);
    expect(await ids({ q: "chablis", query_by: "name,maker", sort_by: "_text_match:asc" })).toEqual(
      ["champagne", "chablis"],
    );
    expect((await refused({ sort_by: "maker:asc" })).text).toContain(
      "Could not find a field named `maker` in the schema for sorting.",
    );
    expect((await refused({ sort_by: "price:up" })).text).toContain("should be either ASC or DESC");
    expect((await refused({ sort_by: "year:asc,price:asc,name:asc,stock:asc" })).status).toBe(422);
  });

  testSince("0.25.0")("takes all matches as equal in one bucket", async () => {
    const sort_by = "_text_match(buckets: 1):desc,price:desc";
    const found = await ids({ q: "chablis", query_by: "name,maker", sort_by });
    expect(found).toEqual(["champagne", "chablis"]);
  });

  testSince("0.25.0")("goes on over offsets without gaps", async () => {
    const all = await ids({ sort_by: "price:asc" });
    expect(await ids({ sort_by: "price:asc", offset: 2, limit: 2 })).toEqual(all.slice(2, 4));
  });

  test("continues over pages without gaps", async () => {
    const all = await ids({ sort_by: "price:asc" });
    const pages = [1, 2, 3].map((page) => ids({ sort_by: "price:asc", page, per_page: 3 }));
    expect((await Promise.all(pages)).flat()).toEqual(all);
    const past = await search({ q: "*", page: 9, per_page: 3 });
    expect(past).toMatchObject({ found: 7, out_of: 7, page: 9, hits: [] });
    expect((await search({ q: "*", per_page: 0 })).hits).toEqual([]);
    expect((await refused({ per_page: 251 })).status).toBe(422);
    expect((await refused({ page: -1 })).text).toContain(
      "Parameter `page` must be an unsigned integer.",
    );
  });
});

describe("facets", () => {
  test("count values of the matches, most frequent first, with statistics for numbers", async () => {
    const { facet_counts: counts } = await search({
      q: "*",
      facet_by: "country,grapes,year,organic",
      filter_by: "country:=[France, Spain]",
    });
    const [country, grapes, year, organic] = counts ?? [];
    expect(country).toMatchObject({
      field_name: "country",
      counts: [
        { value: "France", count: 3, highlighted: "France" },
        { value: "Spain", count: 1 },
      ],
      stats: { total_values: 2 },
    });
    expect(grapes?.counts[0]).toMatchObject({ value: "Chardonnay", count: 2 });
    expect(year?.stats).toEqual({
      min: 2010,
      max: 2018,
      sum: 6040,
      avg: 6040 / 3,
      total_values: 3,
    });
    expect(organic?.counts.map(({ value, count }) => [value, count])).toEqual([
      ["false", 2],
      ["true", 1],
    ]);
  });

  const facet = async (parameters: Partial<SearchParams<Wine>>) => {
    const { facet_counts } = await search({ q: "*", ...parameters });
    return facet_counts?.[0]?.counts.map(({ value }) => value);
  };

  testSince("26.0")("are ordered by name where that is wanted", async () => {
    expect(await facet({ facet_by: "country(sort_by: _alpha:desc)" })).toEqual([
      "United States",
      "Spain",
      "Germany",
      "France",
    ]);
  });

  test("are limited and searched", async () => {
    expect(await facet({ facet_by: "country", max_facet_values: 1 })).toEqual(["France"]);
    const twice = await search({ q: "*", facet_by: "grapes", filter_by: "id:table" });
    expect(twice.facet_counts?.[0]?.counts).toMatchObject([{ value: "Gamay", count: 1 }]);
    const asked = await search({ q: "*", facet_by: "grapes", facet_query: "grapes:cabernet sau" });
    expect(asked.hits).toEqual([]);
    expect(asked.facet_counts?.[0]?.counts).toEqual([
      {
        value: "Cabernet Sauvignon",
        count: 2,
        highlighted: "<mark>Cabernet</mark> <mark>Sau</mark>vignon",
      },
    ]);
    expect((await refused({ facet_by: "maker" })).text).toContain(
      "Could not find a facet field named `maker` in the schema.",
    );
    expect((await refused({ facet_by: "country", facet_query: "grapes:a" })).status).toBe(400);
  });
});

describe("hits", () => {
  test("have highlights by field and as a list", async () => {
    const { hits } = await search({ q: "chateau sauv", query_by: "name,grapes" });
    // Both matches rank equally.
    const shown = hits?.[0]?.highlights?.toSorted((a, b) => (a.field < b.field ? 1 : -1));
    expect(shown).toEqual([
      {
        field: "name",
        matched_tokens: ["Château"],
        snippet: "<mark>Château</mark> d'Orée (Margaux)",
      },
      {
        field: "grapes",
        indices: [0],
        matched_tokens: [["Sauv"]],
        snippets: ["Cabernet <mark>Sauv</mark>ignon"],
      },
    ]);
    expect(hits?.[0]?.highlight).toMatchObject({
      name: { snippet: "<mark>Château</mark> d'Orée (Margaux)" },
      grapes: [
        { snippet: "Cabernet <mark>Sauv</mark>ignon" },
        { snippet: "Merlot", matched_tokens: [] },
      ],
    });
  });

  test("list the best matching field first", async () => {
    const { hits } = await search({
      ...{ q: "cabernet sauvignon", query_by: "name,grapes" },
      filter_by: "id:napa",
    });
    const fields = hits?.[0]?.highlights?.map(({ field }) => field);
    expect(fields).toEqual(["grapes", "name"]);
  });

  test("highlight words with adjacent punctuation, and only the matched prefix of a word", async () => {
    const shown = async (q: string) => {
      const { hits } = await search({ q, query_by: "name,maker" });
      return hits?.[0]?.highlights?.[0]?.snippet;
    };
    expect(await shown("margaux")).toBe("Château d'Orée <mark>(Margaux)</mark>");
    expect(await shown("marga")).toBe("Château d'Orée <mark>(Marga</mark>ux)");
    expect(await shown("strau")).toBe("Weingut <mark>Strau</mark>ß");
    expect(await shown("spatles")).toBe("Riesling <mark>Spätles</mark>e trocken");
  });

  test("have snippets of long texts, custom tags and only the requested fields", async () => {
    const long = `${"word ".repeat(40)}needle ${"word ".repeat(40)}`;
    await engine.admin
      .collections(engine.named("wines"))
      .documents()
      .create({ id: "long", name: long, maker: "x" });
    const options = {
      q: "needle",
      query_by: "name,maker",
      highlight_start_tag: "[",
      highlight_end_tag: "]",
    };
    const [hit] = (await search({ ...options, highlight_affix_num_tokens: 2 })).hits ?? [];
    expect(hit?.highlight.name?.snippet).toBe("word word [needle] word word");
    const full = (await search({ ...options, highlight_full_fields: "name" })).hits?.[0];
    expect(full?.highlight.name?.value).toBe(long.replace("needle", "[needle]"));
    const none = (
      await search({
        ...options,
        highlight_fields: "none",
        include_fields: "id,maker",
        exclude_fields: "maker",
      })
    ).hits?.[0];
    expect(none).toMatchObject({ highlights: [], document: { id: "long" } });
    expect(Object.keys(none!.document)).toEqual(["id"]);
    await engine.admin.collections(engine.named("wines")).documents("long").delete();
  });
});

describe("a multi-search", () => {
  test("shares the parameters of the URL, and an error of one search does not affect the others", async () => {
    const answer = await engine.admin.multiSearch.perform<[Wine, Wine, Wine, Wine]>(
      {
        searches: [
          { collection: engine.named("wines"), q: "rioja" },
          { collection: engine.named("nothing"), q: "rioja" },
          { collection: engine.named("wines"), q: "riesling", filter_by: "year:>2030" },
          { collection: engine.named("wines"), q: "*", sort_by: "nothing:asc" },
        ],
      },
      { query_by: "name", per_page: 1 },
    );
    expect(answer.results).toMatchObject([
      {
        found: 1,
        request_params: { collection_name: engine.named("wines"), per_page: 1, q: "rioja" },
      },
      { code: 404, error: expect.any(String) },
      { found: 0 },
      { code: 404, error: "Could not find a field named `nothing` in the schema for sorting." },
    ]);
    const tooMany = Array.from({ length: 51 }, () => ({
      collection: engine.named("wines"),
      q: "*",
    }));
    expect(await refusal(engine.admin.multiSearch.perform({ searches: tooMany }))).toMatchObject({
      status: 400,
    });
  });
});
