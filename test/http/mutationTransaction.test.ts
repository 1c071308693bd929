import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { locked, waitForWaiter } from "../helpers/locked.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import type { Service } from "../helpers/service.ts";
import { startService, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

// A mutation operation is one transaction: a failed operation changes nothing.
let database: TestDatabase;
let proxy: Proxy;
let service: Service;
let token: string;
const keys = ["products.read", "products.create", "products.update", "reviewers.create"];

beforeAll(async () => {
  database = await createDatabase();
  proxy = await startProxy(database.url);
  service = await startService({ database: { ...database, url: proxy.url } });
  ({ token } = await service.login(keys));
});
afterAll(async () => {
  await service.stop();
  await proxy.stop();
  await database.drop();
});
afterEach(() => proxy.restore());

const ask = (query: string, variables: Record<string, unknown> = {}, key?: string) =>
  service.ask(query, {
    token,
    variables,
    headers: key === undefined ? {} : { "Idempotency-Key": key },
  });
const made = async (name: string) => {
  const { rows } = await database.pool.query<{ rows: number; records: number }>(
    `select (select count(*)::integer from reviewers where name = $1) as rows,
       (select count(*)::integer from audit_log where operation = 'CREATE' and after ->> 'name' = $1) as records`,
    [name],
  );
  return rows[0];
};
const deadlocks = async () => {
  const { rows } = await database.pool.query<{ count: string }>(
    "select deadlocks as count from pg_stat_database where datname = current_database()",
  );
  return Number(rows[0]?.count);
};
const none = { rows: 0, records: 0 };
const once = { rows: 1, records: 1 };
const two = `mutation ($a: String!, $b: String!) {
  a: createReviewer(input: { name: $a }) { id }
  b: createWineType(input: { name: $b }) { id }
}`;

describe("an operation of several mutations", () => {
  test("returns each result in order", async () => {
    const { data, errors } = await ask(`mutation {
      a: createReviewer(input: { name: "Serial" }) { id name }
      b: createWineType(input: { name: "Serial" }) { id name }
    }`);
    expect(errors).toBeUndefined();
    const update = `mutation ($id: ID!) {
      x: updateReviewer(id: $id, input: { name: "X" }) { name }
      y: updateReviewer(id: $id, input: { name: "Y" }) { name }
    }`;
    const changed = await ask(update, { id: data.a.id });
    expect(changed.data).toEqual({ x: { name: "X" }, y: { name: "Y" } });
  });

  test("changes nothing and returns `data: null` when one of them fails", async () => {
    const a = `First ${randomUUID()}`;
    const { data, errors, status } = await ask(two, { a, b: "Red" });
    expect({ data, status }).toEqual({ data: null, status: 200 });
    expect(errors).toMatchObject([
      {
        message: "A wine type of this name exists already.",
        path: ["b"],
        extensions: { code: "CONFLICT" },
      },
    ]);
    expect(await made(a)).toEqual(none);
  });

  test("changes nothing when one of them is rejected", async () => {
    const a = `Refused ${randomUUID()}`;
    const { data, errors } = await ask(
      `mutation ($a: String!) { a: createReviewer(input: { name: $a }) { id } b: deleteAllCampaigns }`,
      { a },
    );
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      { message: "Missing required permission: campaigns.delete", path: ["b"] },
    ]);
    expect(await made(a)).toEqual(none);
  });

  test.each([
    ["without a key", undefined],
    ["with a key", randomUUID()],
  ])(
    "changes nothing and returns 503 when the database fails between them, %s",
    async (_what, key) => {
      const variables = { a: `Away ${randomUUID()}`, b: `Away ${randomUUID()}` };
      await locked(database.pool, "wine_types", async () => {
        const answer = ask(two, variables, key);
        await waitForWaiter(database.pool);
        await proxy.cut();
        const { status, data, errors, headers } = await answer;
        expect({ status, data: data ?? null, retry: headers.get("retry-after") }).toEqual({
          status: 503,
          data: null,
          retry: "2",
        });
        expect(errors?.[0]?.extensions.code).toBe("UNAVAILABLE");
      });
      await proxy.restore();
      expect(await made(variables.a)).toEqual(none);
      // So a client that retries after 503 gets the change once.
      await waitFor(
        "the answer",
        async () => (await ask("{ __typename me { id } }")).status === 200,
      );
      expect((await ask(two, variables, key)).errors).toBeUndefined();
      expect(await made(variables.a)).toEqual(once);
    },
  );
});

test("a mutation whose result cannot be read changes nothing", async () => {
  const name = `Unread ${randomUUID()}`;
  const product = await ask(
    `mutation { createProduct(input: { erpProductNumber: "1", name: "Chinon" }) { id } }`,
  );
  const reviewer = await ask(
    `mutation ($n: String!) { createReviewer(input: { name: $n }) { id } }`,
    {
      n: name,
    },
  );
  const rate = `mutation ($p: ID!, $r: ID!) { createProductRating(input: { productId: $p, reviewerId: $r, points: "90" }) { points reviewer { name } product { campaigns { nodes { title } } } } }`;
  const variables = {
    p: product.data.createProduct.id,
    r: reviewer.data.createReviewer.id,
  };
  // Its campaigns are read for the response after the rating is written.
  await database.pool.query("alter table campaigns rename column title to heading");
  const failed = await ask(rate, variables);
  expect(failed.data).toBeNull();
  expect(failed.errors).toMatchObject([{ extensions: { code: "INTERNAL" } }]);
  expect((await database.pool.query("select from product_ratings")).rowCount).toBe(0);
  await database.pool.query("alter table campaigns rename column heading to title");
  expect((await ask(rate, variables)).errors).toBeUndefined();
});

test("operations in a deadlock are retried transparently", async () => {
  const names = ["Left", "Right"];
  const ids = await Promise.all(
    names.map(
      async (name) =>
        (
          await ask(`mutation ($n: String!) { createReviewer(input: { name: $n }) { id } }`, {
            n: name,
          })
        ).data.createReviewer.id as string,
    ),
  );
  const before = await deadlocks();
  const both = `mutation ($a: ID!, $b: ID!, $c: String!, $d: String!) {
    a: updateReviewer(id: $a, input: { name: $c }) { name }
    b: updateReviewer(id: $b, input: { name: $d }) { name }
  }`;
  const [left, right] = ids;
  for (let round = 0; round < 4; round++) {
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, n) =>
        ask(
          both,
          n % 2
            ? { a: left, b: right, c: `Left ${round} ${n}`, d: `Right ${round} ${n}` }
            : { a: right, b: left, c: `Right ${round} ${n}`, d: `Left ${round} ${n}` },
        ),
      ),
    );
    expect(answers.map(({ errors }) => errors)).toEqual(answers.map(() => undefined));
  }
  await waitFor("the figures of the database", async () => (await deadlocks()) > before);
});

test("concurrent operations with two syncProducts calls in opposite orders apply each call once", async () => {
  const calls = `mutation ($one: SyncProductsInput!, $other: SyncProductsInput!) {
    one: syncProducts(input: $one) { failedCount }
    other: syncProducts(input: $other) { failedCount }
  }`;
  const halves = ["east", "west"];
  const numbersOf = (half: string) => [0, 1, 2, 3, 4].map((n) => `${half}${n}`);
  // Each caller has its own price on each product, so that a lost or repeated update is visible.
  const half = (name: string | undefined, caller: number, round: number) => ({
    products: numbersOf(name ?? "").map((erpProductNumber) => ({
      erpProductNumber,
      fields: { name: erpProductNumber },
      prices: [{ type: `caller_${caller}`, currency: "DKK", amount: `${round + 1}` }],
    })),
  });
  const before = await deadlocks();
  const rounds = 3;
  for (let round = 0; round < rounds; round++) {
    const answers = await Promise.all(
      [0, 1].map((caller) =>
        ask(calls, {
          one: half(halves[caller], caller, round),
          other: half(halves[1 - caller], caller, round),
        }),
      ),
    );
    for (const { data, errors } of answers) {
      expect(errors).toBeUndefined();
      expect(data).toEqual({ one: { failedCount: 0 }, other: { failedCount: 0 } });
    }
  }
  await waitFor("the figures of the database", async () => (await deadlocks()) > before);
  const { rows } = await database.pool.query<{ number: string; prices: string[]; writes: number }>(
    `select p.erp_product_number as number, array(
       select x.type || ' ' || x.amount from product_prices x where x.product_id = p.id order by 1) as prices, (
       select count(*)::integer from audit_log a where a.entity_type = 'ProductPrice' and coalesce(a.after, a.before) ->> 'productId' = p.id::text
         or a.entity_id in (select x.id::text from product_prices x where x.product_id = p.id)) as writes
     from products p where p.erp_product_number ~ '^(east|west)' order by 1`,
  );
  expect(rows).toEqual(
    halves.flatMap(numbersOf).map((number) => ({
      number,
      prices: [`caller_0 ${rounds}.00`, `caller_1 ${rounds}.00`],
      writes: 2 * rounds,
    })),
  );
});

describe("a server that is killed", () => {
  const create = `mutation ($name: String!) { createReviewer(input: { name: $name }) { id name createdAt } }`;

  test("between commit and response returns the stored response for the same key at another server", async () => {
    const name = `Killed ${randomUUID()}`;
    const key = randomUUID();
    const doomed = await startServerProcess({ database: { ...database, url: proxy.url } });
    const committed = proxy.holdResponsesTo("commit");
    const lost = doomed
      .ask(create, { token, variables: { name }, headers: { "Idempotency-Key": key } })
      .catch(() => "lost");
    await committed;
    await waitFor("the effect", async () => (await made(name))?.rows === 1);
    doomed.process.kill("SIGKILL");
    expect(await lost).toBe("lost");
    await proxy.restore();

    const answers = await Promise.all([1, 2, 3].map(() => ask(create, { name }, key)));
    const { rows } = await database.pool.query<{ id: string }>(
      "select id from reviewers where name = $1",
      [name],
    );
    for (const { data, errors } of answers) {
      expect(errors).toBeUndefined();
      expect(data.createReviewer).toMatchObject({ id: rows[0]?.id, name });
    }
    expect(await made(name)).toEqual(once);
    await doomed.stop();
  });

  test("before the commit changes nothing, and the same key runs the mutation", async () => {
    const name = `Killed early ${randomUUID()}`;
    const key = randomUUID();
    const doomed = await startServerProcess({ database });
    await locked(database.pool, "reviewers", async () => {
      const lost = doomed
        .ask(create, { token, variables: { name }, headers: { "Idempotency-Key": key } })
        .catch(() => "lost");
      await waitForWaiter(database.pool);
      doomed.process.kill("SIGKILL");
      expect(await lost).toBe("lost");
    });
    expect((await ask(create, { name }, key)).data.createReviewer.name).toBe(name);
    expect((await ask(create, { name }, key)).data.createReviewer.name).toBe(name);
    expect(await made(name)).toEqual(once);
    await doomed.stop();
  });
});
