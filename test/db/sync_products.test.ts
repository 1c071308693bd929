import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { createDatabase, inTransaction } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { fingerprint, stored, statuses, sync, wine } from "../helpers/db/syncCalls.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);

describe("A row of syncProducts", () => {
  test("creates a product with its prices, images, ratings and a reviewer", () =>
    rolledBack(async (client) => {
      const outcome = await sync(client, [wine("001"), wine("002", { ratings: [] })]);
      expect(statuses(outcome)).toEqual(["CREATED", "CREATED"]);
      expect(outcome.counts).toEqual({ created: 2, updated: 0, unchanged: 0, stale: 0, failed: 0 });
      expect(outcome.productIds).toEqual(outcome.results.map((result) => result.productId));
      expect((await stored(client))["001"]).toEqual({
        name: "Wine 001",
        vintage: 2013,
        producer: null,
        wineType: "Red",
        alcoholPercent: "13.50",
        isActive: true,
        prices: ["retail DKK 129.95"],
        images: ["0 https://images.example.com/001.jpg"],
        ratings: ["Roger Voss 2015 87.00 Ripe and fruity"],
      });
    }));

  test("is recorded in the audit log, once for each stored row", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const { rows } = await client.query<{ line: string }>(
        `select concat_ws(' ', operation, entity_type, metadata ->> 'source', correlation_id) as line
         from audit_log where actor_user_id is not null order by 1`,
      );
      expect(rows.map((row) => row.line)).toEqual([
        "CREATE Product api test",
        "CREATE ProductImage api test",
        "CREATE ProductPrice api test",
        "CREATE ProductRating api test",
        "CREATE Reviewer api test",
      ]);
    }));

  test("keeps fields that it leaves out", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const before = await stored(client);
      const outcome = await sync(client, [
        { erpProductNumber: "001", fields: { producer: "Château Ångström" } },
      ]);
      expect(statuses(outcome)).toEqual(["UPDATED"]);
      expect((await stored(client))["001"]).toEqual({
        ...before["001"],
        producer: "Château Ångström",
      });
    }));

  test("clears fields, prices, images and ratings that are null", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const outcome = await sync(client, [
        {
          erpProductNumber: "001",
          fields: { vintage: null, wineType: null, alcoholPercent: null },
          prices: null,
          images: null,
          ratings: null,
        },
      ]);
      expect(statuses(outcome)).toEqual(["UPDATED"]);
      expect((await stored(client))["001"]).toEqual({
        name: "Wine 001",
        vintage: null,
        producer: null,
        wineType: null,
        alcoholPercent: null,
        isActive: true,
        prices: [],
        images: [],
        ratings: [],
      });
    }));

  test("changes nothing with empty lists", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const outcome = await sync(client, [
        { erpProductNumber: "001", prices: [], images: { mode: "MERGE", items: [] }, ratings: [] },
      ]);
      expect(statuses(outcome)).toEqual(["UNCHANGED"]);
    }));

  test("matches its number byte for byte", () =>
    rolledBack(async (client) => {
      const numbers = ["12", "012", "0012", "a1", "A1", "12.0"];
      const outcome = await sync(
        client,
        numbers.map((number) => wine(number)),
      );
      expect(outcome.counts.created).toBe(6);
      await sync(client, [{ erpProductNumber: "012", fields: { name: "The one" } }]);
      const names = Object.entries(await stored(client)).filter(
        ([, row]) => row.name === "The one",
      );
      expect(names.map(([number]) => number)).toEqual(["012"]);
    }));

  test("fails for a repeated number, and the first row is kept", () =>
    rolledBack(async (client) => {
      const outcome = await sync(client, [
        wine("001"),
        wine("002"),
        wine("001", { fields: { name: "Other" } }),
      ]);
      expect(statuses(outcome)).toEqual(["CREATED", "CREATED", "FAILED"]);
      expect(outcome.results[2]?.errors).toEqual([
        {
          code: "DUPLICATE",
          path: ["input", "products", 2, "erpProductNumber"],
          message: "erpProductNumber: row 1 of this call has the same number",
        },
      ]);
      expect((await stored(client))["001"]?.name).toBe("Wine 001");
    }));
});

describe("Lists of syncProducts", () => {
  test("merge prices by type and currency, and remove a price with a null amount", () =>
    rolledBack(async (client) => {
      await sync(client, [
        wine("001", {
          prices: [
            { type: "retail", currency: "DKK", amount: "100" },
            { type: "retail", currency: "EUR", amount: "13.5" },
            { type: "wholesale", currency: "DKK", amount: "80.00000" },
          ],
        }),
      ]);
      const outcome = await sync(client, [
        {
          erpProductNumber: "001",
          prices: [
            { type: "retail", currency: "DKK", amount: "99.95" },
            { type: "retail", currency: "EUR", amount: null },
            { type: "cellar_door", currency: "DKK", amount: "70" },
            { type: "never_there", currency: "DKK", amount: null },
          ],
        },
      ]);
      expect(statuses(outcome)).toEqual(["UPDATED"]);
      expect((await stored(client))["001"]?.prices).toEqual([
        "cellar_door DKK 70.00",
        "retail DKK 99.95",
        "wholesale DKK 80.00",
      ]);
    }));

  test("merge ratings by year and reviewer, ignoring the case of the name", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      await sync(client, [
        {
          erpProductNumber: "001",
          ratings: [
            { reviewerName: " ROGER voss ", year: 2015, points: "88.5" },
            { reviewerName: "Roger Voss", year: 2016, points: "90", review: "Still good" },
            { reviewerName: "roger voss", points: "91" },
            { reviewerName: "Kerin O’Keefe", year: null, points: "89" },
          ],
        },
      ]);
      expect((await stored(client))["001"]?.ratings).toEqual([
        "Kerin O’Keefe 89.00",
        "Roger Voss 2015 88.50 Ripe and fruity",
        "Roger Voss 2016 90.00 Still good",
        "Roger Voss 91.00",
      ]);
      expect((await client.query("select from reviewers")).rowCount).toBe(2);
    }));

  test("merge images by address, new ones last", () =>
    rolledBack(async (client) => {
      await sync(client, [
        wine("001", {
          images: {
            items: [
              { url: "https://images.example.com/a.jpg", altText: "Front" },
              { url: "https://images.example.com/b.jpg" },
            ],
          },
        }),
      ]);
      await sync(client, [
        {
          erpProductNumber: "001",
          images: {
            mode: "MERGE",
            items: [
              { url: "https://images.example.com/c.jpg" },
              { url: "https://images.example.com/a.jpg", position: 9 },
            ],
          },
        },
      ]);
      expect((await stored(client))["001"]?.images).toEqual([
        "1 https://images.example.com/b.jpg",
        "2 https://images.example.com/c.jpg",
        "9 https://images.example.com/a.jpg Front",
      ]);
    }));

  test("replace images with the mode REPLACE only; an empty list then removes all", () =>
    rolledBack(async (client) => {
      const replace = (items: unknown[]) =>
        sync(client, [{ erpProductNumber: "001", images: { mode: "REPLACE", items } }]);
      await sync(client, [wine("001")]);
      const items = [
        { url: "https://images.example.com/new.jpg" },
        { url: "https://images.example.com/001.jpg" },
      ];
      expect(statuses(await replace(items))).toEqual(["UPDATED"]);
      expect((await stored(client))["001"]?.images).toEqual([
        "0 https://images.example.com/new.jpg",
        "1 https://images.example.com/001.jpg",
      ]);
      expect(statuses(await replace(items))).toEqual(["UNCHANGED"]);
      expect(statuses(await replace([]))).toEqual(["UPDATED"]);
      expect((await stored(client))["001"]?.images).toEqual([]);
    }));
});

describe("Repeated and late calls of syncProducts", () => {
  test("an identical repeat is UNCHANGED and writes nothing, not even audit rows", () =>
    rolledBack(async (client) => {
      const call = [wine("001"), wine("002"), wine("003", { prices: null, images: null })];
      await sync(client, call);
      const before = await fingerprint(client);
      const outcome = await sync(client, call);
      expect(statuses(outcome)).toEqual(["UNCHANGED", "UNCHANGED", "UNCHANGED"]);
      expect(outcome.productIds).toHaveLength(3);
      expect(await fingerprint(client)).toEqual(before);
    }));

  test("a change of one price writes only that price", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001"), wine("002")]);
      const { rows } = await client.query<{ last: string }>(
        "select max(id::text) as last from audit_log",
      );
      const prices = [{ type: "retail", currency: "DKK", amount: "130" }];
      await sync(client, [wine("001"), wine("002", { prices })]);
      const changes = await client.query(
        "select operation, entity_type, before, after from audit_log where id::text > $1",
        [rows[0]?.last],
      );
      expect(changes.rows).toEqual([
        {
          operation: "UPDATE",
          entity_type: "ProductPrice",
          before: { amount: 129.95 },
          after: { amount: 130 },
        },
      ]);
    }));

  test("an older row is STALE and writes nothing", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const before = await fingerprint(client);
      const late = wine("001", {
        sourceUpdatedAt: "2026-01-02T03:04:04.999Z",
        fields: { name: "Old name" },
        prices: null,
      });
      const outcome = await sync(client, [late]);
      expect(statuses(outcome)).toEqual(["STALE"]);
      expect(outcome.productIds).toHaveLength(1);
      expect(await fingerprint(client)).toEqual(before);
    }));

  test("a newer row without changes advances the time, so that rows in between are STALE", () =>
    rolledBack(async (client) => {
      const at = (time: string) => sync(client, [wine("001", { sourceUpdatedAt: time })]);
      await at("2026-01-01T00:00:00Z");
      expect(statuses(await at("2026-01-03T00:00:00Z"))).toEqual(["UPDATED"]);
      expect(statuses(await at("2026-01-02T00:00:00Z"))).toEqual(["STALE"]);
      expect(statuses(await at("2026-01-03T01:00:00+01:00"))).toEqual(["UNCHANGED"]);
    }));

  test("a row without a time is accepted and keeps the stored time", () =>
    rolledBack(async (client) => {
      await sync(client, [wine("001")]);
      const plain = { erpProductNumber: "001", fields: { name: "New name" } };
      expect(statuses(await sync(client, [plain]))).toEqual(["UPDATED"]);
      const late = wine("001", { sourceUpdatedAt: "2026-01-01T00:00:00Z" });
      expect(statuses(await sync(client, [late]))).toEqual(["STALE"]);
    }));
});

describe("The error policy and dry runs of syncProducts", () => {
  const mixed = [
    wine("new"),
    wine("known", { fields: { name: "Changed" } }),
    wine("bad", { fields: { name: "Bad", vintage: 99999 } }),
    wine("same"),
    wine("late", { sourceUpdatedAt: "2020-01-01T00:00:00Z" }),
  ];
  const prepare = (client: pg.PoolClient) =>
    sync(client, [wine("known"), wine("same"), wine("late")]);

  test("by default a failed row does not stop the others", () =>
    rolledBack(async (client) => {
      await prepare(client);
      const outcome = await sync(client, mixed);
      expect(statuses(outcome)).toEqual(["CREATED", "UPDATED", "FAILED", "UNCHANGED", "STALE"]);
      expect(outcome.productIds).toHaveLength(4);
      expect(Object.keys(await stored(client)).sort()).toEqual(["known", "late", "new", "same"]);
    }));

  test("with REJECT_ALL one failed row stops all writes, and the other rows say why", () =>
    rolledBack(async (client) => {
      await prepare(client);
      const before = await fingerprint(client);
      const outcome = await sync(client, mixed, { errorPolicy: "REJECT_ALL" });
      expect(statuses(outcome)).toEqual(["FAILED", "FAILED", "FAILED", "UNCHANGED", "STALE"]);
      expect(outcome.results.map((result) => result.errors[0]?.code)).toEqual([
        "REJECTED_WITH_OTHERS",
        "REJECTED_WITH_OTHERS",
        "INVALID",
        undefined,
        undefined,
      ]);
      expect(await fingerprint(client)).toEqual(before);
    }));

  test("with REJECT_ALL and no failed row all rows are written", () =>
    rolledBack(async (client) => {
      const outcome = await sync(client, [wine("001"), wine("002")], { errorPolicy: "REJECT_ALL" });
      expect(statuses(outcome)).toEqual(["CREATED", "CREATED"]);
    }));

  test.each(["REJECT_FAILED_ROWS", "REJECT_ALL"])(
    "a dry run with %s predicts the result of the call and writes nothing",
    (errorPolicy) =>
      rolledBack(async (client) => {
        await prepare(client);
        const before = await fingerprint(client);
        const rehearsal = await sync(client, mixed, { errorPolicy, dryRun: true });
        expect(rehearsal.dryRun).toBe(true);
        expect(await fingerprint(client)).toEqual(before);
        expect(rehearsal.results[0]?.productId).toBeNull();
        const outcome = await sync(client, mixed, { errorPolicy });
        expect(statuses(rehearsal)).toEqual(statuses(outcome));
        expect(rehearsal.counts).toEqual(outcome.counts);
        expect(rehearsal.results.map((result) => result.errors)).toEqual(
          outcome.results.map((result) => result.errors),
        );
      }),
  );
});
