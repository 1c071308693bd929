import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { seedDatabase } from "../../dev/access/seed.ts";
import { allPermissions } from "../helpers/apiToken.ts";
import { type AskOptions, type Service, startService } from "../helpers/service.ts";
import { entry, hiddenIn } from "../helpers/graphql/nestedFields.ts";

let service: Service;

const ask = (query: string, options: AskOptions) => service.ask(query, options);
beforeAll(async () => {
  service = await startService();
  await seedDatabase(service.database.pool);
});
afterAll(() => service.stop());

describe("a response with hidden rows", () => {
  const ratings = [entry("products.nodes.ratings", "reviewers.read")];
  const ways: [string, string, object[]][] = [
    ["SQL alone", "{ products { nodes { ratings { points } } } }", ratings],
    [
      "SQL and Grafast",
      '{ products { nodes { ratings { points } } } searchFields(type: "products") { name } }',
      ratings,
    ],
    [
      "Grafast",
      "{ products { nodes { ratings(orderBy: ID_ASC) { points } campaigns { nodes { author { colleagues(first: 1) { id } } } } } } }",
      [
        ...ratings,
        entry("products.nodes.campaigns", "campaigns.read"),
        entry("products.nodes.campaigns.nodes.author.colleagues", "users.read"),
      ],
    ],
    [
      "fragments and aliases",
      `{ wines: products { edges { node { ...wine ... { stars: ratings { points } } } } } }
       fragment wine on Product { stars: ratings { year } }`,
      [entry("wines.edges.node.stars", "reviewers.read")],
    ],
    [
      "totals of pages below the root",
      "{ wineTypes { products { nodes { campaigns(includeTotalCount: true) { totalCount } } } } }",
      [entry("wineTypes.products.nodes.campaigns", "campaigns.read")],
    ],
  ];
  test.each(ways)("names each field once, by %s", async (_way, query, hidden) => {
    const { token } = await service.login(["products.read"]);
    const answer = await ask(query, { token });
    expect(answer.errors).toBeUndefined();
    expect(hiddenIn(answer)).toEqual(hidden);
  });

  test("names no field that `@skip` or `@include` omits", async () => {
    const { token } = await service.login(["products.read"]);
    const query = `query ($ratings: Boolean!, $no: Boolean = true) {
      products { nodes { name ratings @include(if: $ratings) { points } campaigns @skip(if: $no) { totalCount } } } }`;
    const hidden = async (variables: object) =>
      hiddenIn(await ask(query, { token, variables: { ...variables } }));
    expect(await hidden({ ratings: false })).toBeUndefined();
    expect(await hidden({ ratings: true })).toEqual(ratings);
    expect(await hidden({ ratings: false, no: false })).toEqual([
      entry("products.nodes.campaigns", "campaigns.read"),
    ]);
  });

  test("has no list for a caller who holds every permission", async () => {
    const { token } = await service.login(await allPermissions(service.database));
    for (const [, query] of ways) expect(hiddenIn(await ask(query, { token }))).toBeUndefined();
  });

  test("names nothing below a rejected root field", async () => {
    const { token } = await service.login(["products.read"]);
    const answer = await ask(
      `{ me { email } order(id: "${randomUUID()}") { customer { name } } products { nodes { ratings { points } } } }`,
      { token },
    );
    expect(answer.errors?.[0]?.message).toBe("Missing required permission: orders.read");
    if (answer.data) expect(hiddenIn(answer)).toEqual(ratings);
  });

  test("names the prices of a campaign's product, but not its author and product", async () => {
    const { token } = await service.login(["campaigns.read"]);
    const answer = await ask(
      "{ campaigns { author { email } product { name wineType { name } prices { amount } } } }",
      { token },
    );
    expect(answer.data.campaigns.map((one: { product: object }) => one.product)).toContainEqual({
      name: "In a campaign",
      wineType: { name: "Red" },
      prices: [],
    });
    expect(hiddenIn(answer)).toEqual([entry("campaigns.product.prices", "products.read")]);
  });

  test("shows the author and product of a campaign to holders of `campaigns.delete` too", async () => {
    const { token } = await service.login(["campaigns.delete", "products.read"]);
    const answer = await ask(
      "{ products { nodes { campaigns { nodes { author { email } } } } } }",
      { token },
    );
    expect(answer.errors).toBeUndefined();
    expect(JSON.stringify(answer.data)).toContain("own@example.com");
    expect(hiddenIn(answer)).toBeUndefined();
  });

  test("names each column that a sample order does not show", async () => {
    const { token } = await service.login(["erpsync.read"]);
    const answer = await ask(
      "{ erpOrderImportIssues { sampleOrders { id erpOrderNumber placedAt status email lines { id } importIssues { key } } } }",
      { token },
    );
    expect(hiddenIn(answer)).toEqual([
      entry("erpOrderImportIssues.sampleOrders.email", "orders.read"),
      entry("erpOrderImportIssues.sampleOrders.lines", "orders.read"),
    ]);
  });

  test("shows sample orders whose first selected column is hidden", async () => {
    const { token } = await service.login(["erpsync.read"]);
    const { data, errors } = await ask(
      "{ erpOrderImportIssues { sampleOrders { createdAt netAmount hasImportDataIssue } } }",
      { token },
    );
    expect(errors).toBeUndefined();
    expect(data.erpOrderImportIssues[0].sampleOrders[0]).toEqual({
      createdAt: null,
      netAmount: null,
      hasImportDataIssue: null,
    });
  });
});

describe("a mutation's response", () => {
  const create = `mutation ($input: CreateProductInput!) {
    createProduct(input: $input) { name prices { amount } ratings { points } }
  }`;
  const hidden = [
    entry("createProduct.prices", "products.read"),
    entry("createProduct.ratings", "reviewers.read"),
  ];
  const input = () => ({ input: { erpProductNumber: randomUUID(), name: "New" } });

  test("names the hidden fields", async () => {
    const { token } = await service.login(["products.create"]);
    const answer = await ask(create, { token, variables: input() });
    expect(answer.errors).toBeUndefined();
    expect(hiddenIn(answer)).toEqual(hidden);
  });

  test("names the same fields when it is repeated with its key after a change of the caller's permissions", async () => {
    const login = await service.login(["products.create"]);
    const sent = {
      token: login.token,
      variables: input(),
      headers: { "idempotency-key": randomUUID() },
    };
    const first = await ask(create, sent);
    expect(hiddenIn(first)).toEqual(hidden);
    await service.database.pool.query(
      "insert into role_permissions (role_id, permission_id) select $1, id from permissions where key in ('products.read', 'reviewers.read')",
      [login.roleId],
    );
    const again = await ask(create, sent);
    expect(again.data).toEqual(first.data);
    expect(hiddenIn(again)).toEqual(hidden);
    const other = await ask(create, { ...sent, variables: input(), headers: {} });
    expect(hiddenIn(other)).toBeUndefined();
  });

  test("names the fields that a login hides from its user", async () => {
    await service.login(["campaigns.read"], "reader@example.com");
    await service.login([], "nobody@example.com");
    const logIn = (email: string) =>
      ask(
        `mutation { devLogin(email: "${email}") { user { roles { permissions { key } } campaigns { totalCount } } } }`,
        {},
      );
    expect(hiddenIn(await logIn("reader@example.com"))).toBeUndefined();
    expect(hiddenIn(await logIn("nobody@example.com"))).toEqual([
      entry("devLogin.user.campaigns", "campaigns.read"),
    ]);
  });
});
