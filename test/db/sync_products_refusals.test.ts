import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { allKeys, statuses, sync, wine } from "../helpers/db/syncCalls.ts";
import type { Row } from "../helpers/db/syncCalls.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);

const price = (changes: Row) => ({
  prices: [{ type: "retail", currency: "DKK", amount: "1", ...changes }],
});
const rating = (changes: Row) => ({
  ratings: [{ reviewerName: "Anna", points: "90", ...changes }],
});
const image = (...urls: string[]) => ({ images: { items: urls.map((url) => ({ url })) } });
const fields = (changes: Row) => ({ fields: { name: "Wine", ...changes } });

const inRange = "must be a decimal from 0 to 999999999.99, with two places at most";
const points = "points must be from 0 to 100";

const faults: [string, Row, string, (string | number)[], string][] = [
  [
    "a number of spaces only",
    { erpProductNumber: "  " },
    "INVALID",
    ["erpProductNumber"],
    "erpProductNumber must be 1 to 50 printable characters without spaces at its ends",
  ],
  [
    "no number",
    { erpProductNumber: null },
    "REQUIRED",
    ["erpProductNumber"],
    "erpProductNumber must be given",
  ],
  [
    "a day that does not exist",
    { sourceUpdatedAt: "2026-02-30T00:00:00Z" },
    "INVALID",
    ["sourceUpdatedAt"],
    "sourceUpdatedAt must be a time with its zone, such as 2026-01-31T12:34:56Z",
  ],
  [
    "an infinite time",
    { sourceUpdatedAt: "infinity" },
    "INVALID",
    ["sourceUpdatedAt"],
    "sourceUpdatedAt must be a time with its zone, such as 2026-01-31T12:34:56Z",
  ],
  [
    "a new product without fields",
    { fields: undefined },
    "REQUIRED",
    ["fields", "name"],
    "name must be given",
  ],
  ["a name of null", fields({ name: null }), "REQUIRED", ["fields", "name"], "name must be given"],
  [
    "a blank name",
    fields({ name: " \u00a0 " }),
    "REQUIRED",
    ["fields", "name"],
    "name must be given",
  ],
  [
    "an invisible character in the name",
    fields({ name: "Wi\u200bne" }),
    "INVALID",
    ["fields", "name"],
    "name must be 1 to 300 visible characters without spaces at its ends",
  ],
  [
    "a vintage out of range",
    fields({ vintage: 99999 }),
    "INVALID",
    ["fields", "vintage"],
    "vintage must be a year from 1700 to 2200",
  ],
  [
    "an alcohol content above what there is",
    fields({ alcoholPercent: "100" }),
    "INVALID",
    ["fields", "alcoholPercent"],
    "alcoholPercent must be from 0 to 99.99",
  ],
  [
    "an alcohol content that is no number",
    fields({ alcoholPercent: "NaN" }),
    "INVALID",
    ["fields", "alcoholPercent"],
    "alcoholPercent must be from 0 to 99.99",
  ],
  [
    "an empty bottle",
    fields({ bottleSizeMl: 0 }),
    "INVALID",
    ["fields", "bottleSizeMl"],
    "bottleSizeMl must be from 1 to 30000",
  ],
  [
    "isActive of null",
    fields({ isActive: null }),
    "REQUIRED",
    ["fields", "isActive"],
    "isActive must be given",
  ],
  [
    "a producer too long",
    fields({ producer: "x".repeat(301) }),
    "INVALID",
    ["fields", "producer"],
    "producer must be 300 characters at most",
  ],
  [
    "an unknown wine type",
    fields({ wineType: "Sparkeling" }),
    "UNKNOWN_WINE_TYPE",
    ["fields", "wineType"],
    'wineType: there is no wine type "Sparkeling"; the nearest are Sparkling, Dessert, Fortified',
  ],
  [
    "a price with a type in capitals",
    price({ type: "Retail" }),
    "INVALID",
    ["prices", 0, "type"],
    "type must be 1 to 40 of a-z, 0-9 and _, a letter first",
  ],
  [
    "a price in no currency",
    price({ currency: "kr" }),
    "INVALID",
    ["prices", 0, "currency"],
    "currency must be a currency code of three capitals, such as DKK",
  ],
  [
    "a price without its amount",
    price({ amount: undefined }),
    "REQUIRED",
    ["prices", 0, "amount"],
    "amount must be given; null removes the price",
  ],
  ...["NaN", "1e400", "-1", "1.999", "1000000000", "1,50", " 1", "", "Infinity"].map(
    (amount) =>
      [
        `a price of "${amount}"`,
        price({ amount }),
        "INVALID",
        ["prices", 0, "amount"],
        `amount ${inRange}`,
      ] as [string, Row, string, (string | number)[], string],
  ),
  [
    "the same price twice",
    { prices: [...price({}).prices, ...price({ amount: "2" }).prices] },
    "DUPLICATE",
    ["prices", 1],
    "prices: retail in DKK is in this list twice",
  ],
  [
    "a rating without points",
    rating({ points: null }),
    "REQUIRED",
    ["ratings", 0, "points"],
    `${points}, with two places at most`,
  ],
  [
    "more points than there are",
    rating({ points: "100.01" }),
    "INVALID",
    ["ratings", 0, "points"],
    points,
  ],
  [
    "points that would be rounded",
    rating({ points: "87.123" }),
    "INVALID",
    ["ratings", 0, "points"],
    `${points}, with two places at most`,
  ],
  [
    "a blank reviewer",
    rating({ reviewerName: " " }),
    "REQUIRED",
    ["ratings", 0, "reviewerName"],
    "reviewerName must be given",
  ],
  [
    "a reviewer's name with a change of direction",
    rating({ reviewerName: "An\u202ena" }),
    "INVALID",
    ["ratings", 0, "reviewerName"],
    "reviewerName must be 1 to 200 visible characters without spaces at its ends",
  ],
  [
    "a rating in a year that is none",
    rating({ year: 12 }),
    "INVALID",
    ["ratings", 0, "year"],
    "year must be a year from 1700 to 2200",
  ],
  [
    "the same rating twice",
    { ratings: [...rating({}).ratings, ...rating({ reviewerName: "ANNA " }).ratings] },
    "DUPLICATE",
    ["ratings", 1],
    "ratings: this reviewer has a rating of the same year in this list already",
  ],
  [
    "an image without https",
    image("http://images.example.com/a.jpg"),
    "INVALID",
    ["images", "items", 0, "url"],
    "url must be an https:// address of 2000 characters at most",
  ],
  [
    "the same image twice",
    image("https://a.example.com/a", "https://a.example.com/a"),
    "DUPLICATE",
    ["images", "items", 1],
    "images: this address is in the list twice",
  ],
];

describe("A row of syncProducts fails, with its path and a reason, for", () => {
  test.each(faults)("%s", (_name, changes, code, path, message) =>
    rolledBack(async (client) => {
      const outcome = await sync(client, [wine("good"), { ...wine("bad"), ...changes }]);
      expect(statuses(outcome)).toEqual(["CREATED", "FAILED"]);
      expect(outcome.results[1]?.errors).toEqual([
        { code, path: ["input", "products", 1, ...path], message },
      ]);
      expect((await client.query("select from products")).rowCount).toBe(1);
    }),
  );

  test("null fields, which cannot be cleared together", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const outcome = await sync(client, [{ erpProductNumber: "001", fields: null }]);
      expect(outcome.results[0]?.errors).toEqual([
        {
          code: "INVALID",
          path: ["input", "products", 0, "fields"],
          message:
            "fields must be an object, and cannot be null: leave it out to keep all fields, or give null for each field to clear",
        },
      ]);
    }));

  test.each([
    "https://127.0.0.1/a.jpg",
    "https://2130706433/a.jpg",
    "https://0x7f.0x0.0x0.0x1/a.jpg",
    "https://0177.0.0.1/a.jpg",
    "https://[::1]/a.jpg",
    "https://[::ffff:10.0.0.1]/a.jpg",
    "https://localhost/a.jpg",
    "https://LOCALHOST:8443/a.jpg",
    "https://localhost./a.jpg",
    "https://app.localhost/a.jpg",
    "https://intranet/a.jpg",
    "https://metadata.google.internal/a.jpg",
    "https://printer.local?a.jpg",
    "https://nas.home.arpa/a.jpg",
    "https://good.example.com@127.0.0.1/a.jpg",
    "https://user@images.example.com/a.jpg",
    "https://images.example.com\\@127.0.0.1/a.jpg",
    "https://１２７.0.0.1/a.jpg",
    "https://%31%32%37.0.0.1/a.jpg",
    "https://.example.com/a.jpg",
  ])("the image address %s, which is internal", (url) =>
    rolledBack(async (client) => {
      const outcome = await sync(client, [wine("bad", image(url))]);
      expect(outcome.results[0]?.errors).toEqual([
        {
          code: "INVALID",
          path: ["input", "products", 0, "images", "items", 0, "url"],
          message: "url must name a public host: no IP address, no internal name",
        },
      ]);
    }),
  );

  test.each([
    "https://images.example.com",
    "https://images.example.com:8443/a.jpg?size=2#top",
    "https://xn--vin-ros-gya.dk/flaske/127.0.0.1.jpg",
    "https://local.example.com/localhost",
    "https://3m.com/a.jpg",
  ])("no public image address: %s", (url) =>
    rolledBack(async (client) => {
      expect(statuses(await sync(client, [wine("good", image(url))]))).toEqual(["CREATED"]);
    }),
  );
});

describe("A call of syncProducts is rejected", () => {
  const without = (key: string) => allKeys.filter((held) => held !== key);

  test.each([
    ["products.create", [{ erpProductNumber: "001" }]],
    ["products.update", [{ erpProductNumber: "001" }]],
    ["reviewers.read", [wine("001", { prices: null }), wine("002")]],
    ["reviewers.create", [{ erpProductNumber: "001", ratings: null }]],
  ])("without %s", (key, rows) =>
    rolledBack(async (client) => {
      await expect(sync(client, rows, {}, without(key))).rejects.toMatchObject({
        code: "OF403",
        message: `Missing required permission: ${key}`,
      });
    }),
  );

  test("without a login", () =>
    rolledBack(async (client) => {
      await client.query("set local role office_api");
      await expect(
        client.query("select sync_products($1)", [JSON.stringify({ products: [wine("001")] })]),
      ).rejects.toMatchObject({ code: "OF401" });
    }));

  test.each([
    ["no rows", []],
    ["1001 rows", Array.from({ length: 1001 }, (_, n) => ({ erpProductNumber: String(n) }))],
  ])("with %s", (_name, rows) =>
    rolledBack(async (client) => {
      await expect(sync(client, rows)).rejects.toMatchObject({
        code: "OF400",
        message: "products: give 1 to 1000 products in a call",
        detail: '{"path": ["input", "products"]}',
      });
    }),
  );

  test("never for missing reviewer permissions when no ratings are written", () =>
    rolledBack(async (client) => {
      const rows = [wine("001", { ratings: [] }), wine("002", { ratings: undefined })];
      const outcome = await sync(client, rows, {}, ["products.create", "products.update"]);
      expect(statuses(outcome)).toEqual(["CREATED", "CREATED"]);
    }));
});
