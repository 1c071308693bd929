import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fingerprint } from "../helpers/db/syncCalls.ts";
import { insertApiToken } from "../helpers/apiToken.ts";
import { askAt, startService, startServerProcess } from "../helpers/service.ts";
import type { Answer, Service } from "../helpers/service.ts";

// Two server processes on one database, each with its own connections.
let service: Service;
let second: Service;
let token: string;

const ratingKeys = ["reviewers.read", "reviewers.create"];
const keys = ["products.read", "products.create", "products.update", ...ratingKeys];

beforeAll(async () => {
  service = await startService();
  second = await startServerProcess({ database: service.database });
  ({ token } = await service.login(keys));
});
afterAll(async () => {
  await second?.stop();
  await service?.stop();
});

const mutation = `mutation ($input: SyncProductsInput!) {
  syncProducts(input: $input) {
    results { status errors { code path message } }
    createdCount updatedCount unchangedCount staleCount failedCount dryRun
  }
}`;
const sync = (products: unknown[], options: object = {}, asked = token, server = service) =>
  askAt(server.url, mutation, {
    token: asked,
    variables: { input: { products, ...options } },
  });
const statuses = ({ data, errors }: Answer): string[] => {
  expect(errors).toBeUndefined();
  return data.syncProducts.results.map((result: { status: string }) => result.status);
};
const stored = async () => {
  const client = await service.database.pool.connect();
  try {
    return await fingerprint(client);
  } finally {
    client.release();
  }
};

describe("concurrent calls of syncProducts at two servers, on the same products and reviewers", () => {
  const rounds = 6;
  const callers = [0, 1, 2, 3, 4, 5];
  const numbers = Array.from({ length: 40 }, (_, n) => `c${n}`);
  /** Each caller sends an overlapping part in a different order. */
  const partOf = (caller: number, round: number) =>
    numbers
      .filter((_, n) => (n + caller + round) % 4 !== 0)
      .map((number, n) => ({ number, place: Math.sin(caller * 7 + round * 13 + n) }))
      .sort((a, b) => a.place - b.place)
      .map(({ number }) => number);

  test("neither fail, duplicate rows nor lose updates during manual changes", async () => {
    let done = false;
    // A user who changes other fields and adds the same reviewers.
    const byHand = async () => {
      const edits: Answer[] = [];
      for (let n = 0; !done; n += 1) {
        const { rows } = await service.database.pool.query<{ id: string }>(
          "select id from products where erp_product_number = $1",
          [numbers[n % numbers.length]],
        );
        const id = rows[0]?.id;
        if (id !== undefined)
          edits.push(
            await second.ask(
              `mutation ($id: ID!, $producer: String) { updateProduct(id: $id, input: { producer: $producer }) { id } }`,
              { token, variables: { id, producer: `Producer ${n % numbers.length}` } },
            ),
          );
        await second.ask(
          `mutation ($name: String!) { createReviewer(input: { name: $name }) { id } }`,
          { token, variables: { name: `rEVIEWER ${n % (rounds + 1)}` } },
        );
      }
      return edits;
    };
    const colleague = byHand();
    const results: string[] = [];
    for (let round = 0; round < rounds; round++)
      results.push(
        ...(
          await Promise.all(
            callers.map((caller) =>
              sync(
                partOf(caller, round).map((number) => ({
                  erpProductNumber: number,
                  fields: { name: `Wine ${number}` },
                  // Each caller has its own price on each product, so that a lost update is visible.
                  prices: [{ type: `caller_${caller}`, currency: "DKK", amount: `${round + 1}` }],
                  ratings: [
                    {
                      reviewerName: `${caller % 2 ? "reviewer" : "REVIEWER"} ${round}`,
                      points: "90",
                    },
                    { reviewerName: `Reviewer ${round + 1}`, year: 2000 + caller, points: "91" },
                  ],
                })),
                {},
                token,
                caller % 2 ? second : service,
              ),
            ),
          )
        ).flatMap(statuses),
      );
    done = true;
    expect((await colleague).flatMap(({ errors }) => errors ?? [])).toEqual([]);

    expect(results.filter((status) => status === "FAILED")).toEqual([]);
    expect(results.filter((status) => status === "CREATED")).toHaveLength(numbers.length);
    const { rows } = await service.database.pool.query<{ number: string; prices: string[] }>(
      `select p.erp_product_number as number, array(
         select x.type || ' ' || x.amount from product_prices x where x.product_id = p.id order by 1) as prices
       from products p order by p.id`,
    );
    expect(rows.map(({ number }) => number).toSorted()).toEqual(numbers.toSorted());
    const lastRound = (caller: number, number: string) =>
      Math.max(
        ...Array.from({ length: rounds }, (_, r) => (partOf(caller, r).includes(number) ? r : -1)),
      );
    for (const { number, prices } of rows)
      expect(prices).toEqual(
        callers.map((caller) => `caller_${caller} ${lastRound(caller, number) + 1}.00`),
      );
    const { rows: created } = await service.database.pool.query(
      `select entity_type, count(*)::integer, count(distinct entity_id)::integer as things from audit_log
       where operation = 'CREATE' and entity_type in ('Product', 'Reviewer') group by 1 order by 1`,
    );
    expect(created).toEqual([
      { entity_type: "Product", count: numbers.length, things: numbers.length },
      { entity_type: "Reviewer", count: rounds + 1, things: rounds + 1 },
    ]);
  });
});

describe("a call of a thousand products over HTTP", () => {
  const rows = (tag: string, change = "") =>
    Array.from({ length: 1000 }, (_, n) => ({
      erpProductNumber: `${tag}-${n}`,
      sourceUpdatedAt: "2026-01-02T03:04:05Z",
      fields: {
        name: `Wine ${n}${change}`,
        vintage: 2013,
        wineType: "Red",
        alcoholPercent: "13.5",
      },
      prices: [{ type: "retail", currency: "DKK", amount: "129.95" }],
      images: { items: [{ url: `https://images.example.com/${n}.jpg` }] },
      ratings: [{ reviewerName: `Reviewer ${n % 7}`, points: "87", review: "Ripe" }],
    }));

  test("succeeds during other calls and reads, which are answered", async () => {
    let done = false;
    const read = async () => {
      const answers: Answer[] = [];
      while (!done)
        answers.push(
          await second.ask("{ products(first: 50) { nodes { name prices { amount } } } }", {
            token,
          }),
        );
      return answers;
    };
    const readers = [read(), read()];
    const answers = await Promise.all(
      ["x", "y", "z"].map((tag, n) => sync(rows(tag), {}, token, n % 2 ? second : service)),
    );
    done = true;
    for (const answer of answers) expect(new Set(statuses(answer))).toEqual(new Set(["CREATED"]));
    const read50 = (await Promise.all(readers)).flat();
    expect(read50.flatMap(({ errors }) => errors ?? [])).toEqual([]);
    expect(read50.length).toBeGreaterThan(3);
  });

  test("that is unchanged, stale or a dry run writes no rows and no audit rows", async () => {
    const before = await stored();
    const same = await sync(rows("x"));
    expect(same.data.syncProducts).toMatchObject({ unchangedCount: 1000, failedCount: 0 });
    const rehearsal = await sync(rows("x", " renamed"), { dryRun: true });
    expect(rehearsal.data.syncProducts).toMatchObject({ updatedCount: 1000, dryRun: true });
    const late = rows("x", " renamed").map((row) => ({
      ...row,
      sourceUpdatedAt: "2025-12-31T00:00:00Z",
    }));
    expect((await sync(late)).data.syncProducts).toMatchObject({ staleCount: 1000 });
    expect(await stored()).toEqual(before);
  });

  test("with one bad row is rejected as a whole under REJECT_ALL, with the reason at that row", async () => {
    const before = await stored();
    const products: object[] = rows("x", " renamed");
    products[700] = {
      ...rows("x")[700],
      prices: [{ type: "retail", currency: "DKK", amount: "1,50" }],
    };
    const { data, errors } = await sync(products, { errorPolicy: "REJECT_ALL" });
    expect(errors).toBeUndefined();
    expect(data.syncProducts).toMatchObject({ failedCount: 1000, updatedCount: 0 });
    expect(data.syncProducts.results[700].errors).toEqual([
      {
        code: "INVALID",
        path: ["input", "products", "700", "prices", "0", "amount"],
        message: "amount must be a decimal from 0 to 999999999.99, with two places at most",
      },
    ]);
    expect(data.syncProducts.results[699].errors[0].code).toBe("REJECTED_WITH_OTHERS");
    expect(await stored()).toEqual(before);
  });
});

describe("the sections of syncProducts", () => {
  const plain = {
    erpProductNumber: "section-1",
    fields: { name: "Plain" },
    prices: null,
    images: null,
  };
  const rated = { erpProductNumber: "section-2", fields: { name: "Rated" }, ratings: null };

  test.each(ratingKeys)("reject ratings without %s before any write", async (key) => {
    const { token: weak } = await service.login(keys.filter((held) => held !== key));
    const before = await stored();
    for (const dryRun of [false, true]) {
      const { data, errors } = await sync([plain, rated], { dryRun }, weak);
      expect(data).toBeNull();
      expect(errors?.[0]).toMatchObject({
        message: `Missing required permission: ${key}`,
        extensions: { code: "FORBIDDEN", requiredPermission: key },
      });
    }
    expect(await stored()).toEqual(before);
  });

  test("other than ratings are allowed for a token scoped to products", async () => {
    const { userId } = await service.login(keys);
    const { token: narrow } = await insertApiToken(service.database, userId, [
      "products.create",
      "products.update",
    ]);
    expect(statuses(await sync([plain], {}, narrow))).toEqual(["CREATED"]);
    expect(statuses(await sync([{ ...plain, ratings: [] }], {}, narrow))).toEqual(["UNCHANGED"]);
    const { errors } = await sync([rated], {}, narrow);
    expect(errors?.[0]?.message).toBe("Missing required permission: reviewers.read");
  });
});
