import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { randomUUID } from "node:crypto";
import { insertApiToken } from "../helpers/apiToken.ts";
import { startService } from "../helpers/service.ts";
import type { Service } from "../helpers/service.ts";

let service: Service;
let token: string;
let userId: string;
/** Ids of the products 0001, 0002 and 3. */
let ids: string[];

beforeAll(async () => {
  service = await startService();
  ({ token, userId } = await service.login(["productsync.run"]));
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into products (erp_product_number, name) values ('0001', 'A'), ('0002', 'B'), ('3', 'C') returning id",
  );
  ids = rows.map((row) => row.id);
});

afterAll(() => service.stop());

const trigger = (input: unknown, asked: string | null = token) =>
  service.ask(
    `mutation ($input: TriggerProductSyncInput!) {
      triggerProductSync(input: $input) { accepted requestedCount acceptedCount acceptedAt message }
    }`,
    { token: asked, variables: { input } },
  );
const runs = async () => {
  const { rows } = await service.database.pool.query<{ numbers: string[]; jobs: number }>(
    `select r.erp_product_numbers as numbers, (
       select count(*)::integer from graphile_worker._private_jobs j where j.payload #>> '{input,runId}' = r.id::text
     ) as jobs
     from product_sync_runs r order by r.created_at, r.id`,
  );
  return rows;
};
/** The rows that a call has added. */
const added = async (input: unknown) => {
  const before = (await runs()).length;
  const answer = await trigger(input);
  return { ...answer, runs: (await runs()).slice(before) };
};

describe("triggerProductSync", () => {
  test("accepts a list of ids and numbers, counts each product once, and queues one job", async () => {
    const input = {
      productIds: [ids[0], ids[1], ids[0]],
      erpProductNumbers: [" 9\t", "0001", "9", "0009"],
    };
    const { data, errors, runs: made } = await added(input);
    expect(errors).toBeUndefined();
    expect(data.triggerProductSync).toEqual({
      accepted: true,
      requestedCount: 4,
      acceptedCount: 4,
      acceptedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      message: "The synchronisation of 4 products was started.",
    });
    expect(made).toEqual([{ numbers: ["9", "0001", "0009", "0002"], jobs: 1 }]);
  });

  test("accepts unknown numbers byte for byte", async () => {
    const { data, runs: made } = await added({ erpProductNumbers: ["00012", "12", "æ-7"] });
    expect(data.triggerProductSync).toMatchObject({ accepted: true, acceptedCount: 3 });
    expect(made).toEqual([{ numbers: ["00012", "12", "æ-7"], jobs: 1 }]);
  });

  test("accepts ids alone, and ignores blank numbers", async () => {
    const alone = await added({ productIds: [ids[2]], erpProductNumbers: null });
    expect(alone.runs).toEqual([{ numbers: ["3"], jobs: 1 }]);
    expect(alone.data.triggerProductSync.message).toBe(
      "The synchronisation of 1 product was started.",
    );
    const blank = await added({ erpProductNumbers: [" ", "7", "", "\u00a0"] });
    expect(blank.data.triggerProductSync).toMatchObject({ requestedCount: 1, acceptedCount: 1 });
    expect(blank.runs).toEqual([{ numbers: ["7"], jobs: 1 }]);
  });

  test("does not accept unknown ids, and names them", async () => {
    const unknown = [randomUUID(), randomUUID()].sort();
    const { data, runs: made } = await added({ productIds: [unknown[1], ids[0], unknown[0]] });
    expect(data.triggerProductSync).toMatchObject({
      accepted: true,
      requestedCount: 3,
      acceptedCount: 1,
      message: `The synchronisation of 1 product was started. There are no products with the ids ${unknown.join(", ")}`,
    });
    expect(made).toEqual([{ numbers: ["0001"], jobs: 1 }]);
  });

  test("starts nothing for unknown ids only", async () => {
    const unknown = randomUUID();
    const { data, errors, runs: made } = await added({ productIds: [unknown] });
    expect(errors).toBeUndefined();
    expect(data.triggerProductSync).toEqual({
      accepted: false,
      requestedCount: 1,
      acceptedCount: 0,
      acceptedAt: null,
      message: `Nothing was started. There is no product with the id ${unknown}`,
    });
    expect(made).toEqual([]);
    const many = await added({ productIds: Array.from({ length: 23 }, () => randomUUID()) });
    expect(many.data.triggerProductSync.message).toMatch(/ and 3 more$/);
  });

  test.each([
    ["nothing", {}],
    ["null for both", { productIds: null, erpProductNumbers: null }],
    ["two empty lists", { productIds: [], erpProductNumbers: [] }],
    ["one empty list", { productIds: [] }],
    ["blanks only", { erpProductNumbers: ["", " ", "\t\n", "\u00a0", "\u3000"] }],
  ])("rejects %s instead of treating it as all products", async (_what, input) => {
    const { errors, data, runs: made } = await added(input);
    expect(data).toBeNull();
    expect(errors).toMatchObject([
      {
        message: "Name at least one product, in productIds or erpProductNumbers",
        extensions: { code: "BAD_USER_INPUT", path: ["input"] },
      },
    ]);
    expect(made).toEqual([]);
  });

  test.each([
    ["a missing input", "mutation { triggerProductSync { accepted } }"],
    ["an input of null", "mutation { triggerProductSync(input: null) { accepted } }"],
    [
      "null in a list",
      "mutation { triggerProductSync(input: { erpProductNumbers: [null] }) { accepted } }",
    ],
    [
      "an id that is none",
      'mutation { triggerProductSync(input: { productIds: ["all"] }) { accepted } }',
    ],
    [
      "an address to call",
      'mutation { triggerProductSync(input: { erpProductNumbers: ["1"], url: "http://127.0.0.1" }) { accepted } }',
    ],
    [
      "an environment",
      'mutation { triggerProductSync(input: { erpProductNumbers: ["1"], environment: "test" }) { accepted } }',
    ],
    [
      "a limit",
      'mutation { triggerProductSync(input: { erpProductNumbers: ["1"], limit: 5 }) { accepted } }',
    ],
  ])("rejects %s", async (_what, document) => {
    const before = await runs();
    const { errors } = await service.ask(document, { token });
    expect(errors?.[0]?.extensions.code).toBe("BAD_USER_INPUT");
    expect(await runs()).toEqual(before);
  });

  test("accepts at most 1000 products, not counting duplicates", async () => {
    const numbers = Array.from({ length: 1000 }, (_, n) => `many-${n}`);
    const most = await added({ erpProductNumbers: [...numbers, ...numbers, " many-0 "] });
    expect(most.data.triggerProductSync).toMatchObject({
      requestedCount: 1000,
      acceptedCount: 1000,
    });
    const { errors, runs: made } = await added({
      erpProductNumbers: numbers,
      productIds: [ids[0]],
    });
    expect(errors?.[0]).toMatchObject({
      message: "Name 1000 products at most: these are 1001",
      extensions: { code: "BAD_USER_INPUT", path: ["input"] },
    });
    expect(made).toEqual([]);
  });

  test.each([["x".repeat(51)], ["1\n2"], ["1\u0007"]])(
    "rejects an invalid number with its position: %j",
    async (number) => {
      const { errors, runs: made } = await added({ erpProductNumbers: ["1", number] });
      expect(errors?.[0]).toMatchObject({
        message: "erpProductNumbers: a number has 1 to 50 printable characters",
        extensions: { code: "BAD_USER_INPUT", path: ["input", "erpProductNumbers", 1] },
      });
      expect(made).toEqual([]);
    },
  );

  test("needs productsync.run, also as a token's scope", async () => {
    const { token: other } = await service.login(["erpsync.run", "products.update"]);
    expect((await trigger({ erpProductNumbers: ["1"] }, other)).errors?.[0]).toMatchObject({
      message: "Missing required permission: productsync.run",
      extensions: { code: "FORBIDDEN", requiredPermission: "productsync.run" },
    });
    expect((await trigger({}, null)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
    const { userId: both } = await service.login(["productsync.run", "erpsync.read"]);
    const { token: reader } = await insertApiToken(service.database, both, ["erpsync.read"]);
    const { token: runner, tokenId } = await insertApiToken(service.database, both, [
      "productsync.run",
    ]);
    expect((await trigger({ erpProductNumbers: ["1"] }, reader)).errors?.[0]?.message).toBe(
      "Missing required permission: productsync.run",
    );
    const { data } = await trigger({ erpProductNumbers: ["1"] }, runner);
    expect(data.triggerProductSync.accepted).toBe(true);
    const { rows } = await service.database.pool.query(
      "select api_token_id from product_sync_runs where user_id = $1",
      [both],
    );
    expect(rows).toEqual([{ api_token_id: tokenId }]);
  });

  test("is listed in myJobs and in the audit log, and can be cancelled while it waits", async () => {
    await trigger({ erpProductNumbers: ["b", "a", "c", "d", "e", "f"] });
    const { data } = await service.ask(
      "{ myJobs(first: 1) { nodes { id kind title subject state maxAttempts canCancel } } }",
      { token },
    );
    const [job] = data.myJobs.nodes;
    expect(job).toMatchObject({
      kind: "product_sync",
      title: "Synchronisation of products",
      subject: "6 products: b, a, c, d, e and 1 more",
      state: "QUEUED",
      maxAttempts: 12,
      canCancel: true,
    });
    const audit = await service.database.pool.query(
      `select actor_user_id, after -> 'erpProductNumbers' as numbers from audit_log
       where entity_type = 'ProductSyncRun' order by created_at desc, id desc limit 1`,
    );
    expect(audit.rows).toEqual([
      { actor_user_id: userId, numbers: ["b", "a", "c", "d", "e", "f"] },
    ]);
    const cancelled = await service.ask(
      "mutation ($id: ID!) { cancelJob(id: $id) { state finishedAt canRetry } }",
      { token, variables: { id: job.id } },
    );
    expect(cancelled.data.cancelJob).toEqual({
      state: "CANCELLED",
      finishedAt: expect.any(String),
      canRetry: true,
    });
    expect((await runs()).at(-1)?.jobs).toBe(0);
  });
});
