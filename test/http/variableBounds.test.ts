import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { timed } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";
import { run, testMode } from "../helpers/http/testRuns.ts";

let service: Service;
let token: string;
const unknownToken = makeToken("session");

beforeAll(async () => {
  service = await startService({
    env: testMode,
    constants: { limits: { variableValues: 60_000 } },
  });
  ({ token } = await service.login(["roles.create", "products.read", "productsync.run"]));
});
afterAll(() => service.stop());

const createRole = "mutation ($i: CreateRoleInput!) { createRole(input: $i) { id } }";
const triggerSync =
  "mutation ($i: TriggerProductSyncInput!) { triggerProductSync(input: $i) { accepted } }";
const productsIn =
  "query ($by: [ProductOrderBy!]) { products(first: 1, orderBy: $by) { nodes { id } } }";
const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_value, index) => [`k${index}`, 0]));
const errorOf = async (query: string, variables: Record<string, unknown>, by: string = token) => {
  const { errors } = await service.ask(query, { token: by, variables });
  const [error] = errors ?? [];
  return { message: error?.message, ...error?.extensions, count: errors?.length ?? 0 };
};

describe("variables", () => {
  test("accept an object of 100 keys", async () => {
    const { path, count } = (await errorOf(createRole, { i: { name: "x", ...keys(99) } })) as {
      path?: unknown;
      count: number;
    };
    expect(path).toEqual(["input", "permissionKeys"]);
    expect(count).toBeLessThanOrEqual(51);
  });

  test("reject an object of 101 keys", async () => {
    expect(await errorOf(createRole, { i: { name: "x", ...keys(100) } })).toMatchObject({
      message: "input has 101 keys; at most 100 are allowed",
      code: "BAD_USER_INPUT",
      path: ["input"],
      limit: 100,
    });
  });

  test("accept a list of 50,000 items", async () => {
    const { message } = await errorOf(triggerSync, {
      i: { productIds: Array(50_000).fill(randomUUID()) },
    });
    expect(message ?? "").not.toContain("items");
  });

  test("reject a list of 50,001 items", async () => {
    expect(
      await errorOf(triggerSync, { i: { productIds: Array(50_001).fill("x") } }),
    ).toMatchObject({
      message: "input.productIds has 50001 items; at most 50000 are allowed",
      code: "BAD_USER_INPUT",
      path: ["input", "productIds"],
    });
  });

  test("reject more values in total than the setting allows", async () => {
    const half = Array(30_000).fill("x");
    expect(
      await errorOf(triggerSync, { i: { productIds: half, erpProductNumbers: half } }),
    ).toMatchObject({
      message: "input: the variables hold more than 60000 values",
      code: "BAD_USER_INPUT",
      limit: 60_000,
    });
  });

  test("reject a list of enum values that is longer than the enum", async () => {
    const { message, path, limit } = (await errorOf(productsIn, {
      by: Array(400).fill("NAME_ASC"),
    })) as { message?: string; path?: unknown; limit?: number };
    expect(message).toBe(`orderBy has 400 items; at most ${limit} are allowed`);
    expect(path).toEqual(["orderBy"]);
    // A longer list would repeat values.
    const { message: shorter } = await errorOf(productsIn, { by: Array(limit).fill("NAME_ASC") });
    expect(shorter).toBeUndefined();
  });

  test("reject a literal list of enum values that is longer than the enum", async () => {
    const literal = `{ products(first: 1, orderBy: [${"NAME_ASC ".repeat(400)}]) { nodes { id } } }`;
    expect((await errorOf(literal, {})).message).toMatch(
      /A list of ProductOrderBy has at most \d+ items$/,
    );
  });

  test("reject a cursor of megabytes as invalid", async () => {
    const after = Buffer.from("[".repeat(3_000_000)).toString("base64");
    const { ms, result } = await timed(() =>
      errorOf("query ($after: Cursor) { products(first: 1, after: $after) { nodes { id } } }", {
        after,
      }),
    );
    expect(result).toMatchObject({
      message: "after must be a cursor from an earlier answer",
      path: ["after"],
    });
    expect(ms).toBeLessThan(20_000);
  });
});

describe("a long request", () => {
  const long = { i: { name: "x", description: "y".repeat(150_000) } };

  test("with an unknown token is rejected before its variables are read", async () => {
    expect(
      await errorOf(createRole, { i: { name: 5, text: "y".repeat(150_000) } }, unknownToken),
    ).toMatchObject({ code: "UNAUTHENTICATED", count: 1 });
  });

  test("of an authenticated caller gets the errors of its variables", async () => {
    const { code, message } = (await errorOf(createRole, long)) as {
      code?: string;
      message?: string;
    };
    expect(code).toBe("BAD_USER_INPUT");
    expect(message).toContain("permissionKeys");
  });

  test("for an operation that needs no login needs no token", async () => {
    const { data, errors } = await service.ask(
      `mutation ($e: String!) { devLogin(email: $e) { token } }`,
      { variables: { e: `${"y".repeat(150_000)}@example.com` } },
    );
    expect([data?.devLogin ?? null, errors?.[0]?.extensions.code]).toEqual([
      null,
      "UNAUTHENTICATED",
    ]);
  });
});

describe("a test run that does not exist", () => {
  const exists = async (id: string) =>
    (
      await service.database.pool.query<{ found: boolean }>(
        "select to_regnamespace($1) is not null as found",
        [`backoffice_e2e_${id}`],
      )
    ).rows[0]?.found;

  test("is not created with an unknown token", async () => {
    const { errors } = await service.ask("{ users { id } }", {
      token: unknownToken,
      headers: run("nobody"),
    });
    expect(errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
    expect(await exists("nobody")).toBe(false);
  });

  test("is not created by a download or by a question to the assistant", async () => {
    for (const path of [`/exports/${randomUUID()}/download`, "/ai/conversations"]) {
      const { status } = await fetch(`${service.url}${path}`, {
        headers: { ...run("rest"), authorization: `Bearer ${unknownToken}` },
      });
      expect(status).toBe(401);
    }
    expect(await exists("rest")).toBe(false);
  });

  test("is created by bootstrapFirstUser", async () => {
    const { data } = await service.ask(
      `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`,
      { headers: run("first") },
    );
    expect(data.bootstrapFirstUser.token).toMatch(/^bos_/);
    expect(await exists("first")).toBe(true);
  });
});
