import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";
import { type Answer, type Service, startService } from "../helpers/service.ts";

let service: Service;
let alone: GrafastAlone;
let reader: { token: string; userId: string; roleId: string };
let author: { userId: string; roleId: string };

const permissions = [
  "campaigns.read",
  "orders.read",
  "customers.read",
  "users.read",
  "users.update",
  "roles.read",
  "roles.update",
  "invitations.create",
  "departments.read",
];

beforeAll(async () => {
  service = await startService();
  alone = await makeGrafastAlone(service.database);
  reader = await service.login(permissions);
  author = await service.login([], "author@example.com");
  await service.database.pool.query(
    `insert into campaigns (title, price, author_user_id, medium, scheduled_at)
     select 'Number ' || n, '1', u, 'EMAIL', now() - n * interval '1 day'
     from unnest($1::uuid[]) with ordinality as a(u, n)`,
    [[author.userId, author.userId, reader.userId]],
  );
  await service.database.pool.query(
    `with c as (insert into customers (erp_customer_number, name) values ('1', 'Vinhandel') returning id)
     insert into orders (erp_order_number, customer_id, placed_at) select 'B' || n, c.id, now() from c, generate_series(1, 3) n`,
  );
});
afterAll(async () => {
  await alone.stop();
  await service.stop();
});

/** The audited reads of one request. */
const readsOf = ({ headers }: Pick<Answer, "headers">) =>
  readsUnder(headers.get("x-correlation-id"));

async function readsUnder(correlationId: string | null): Promise<Record<string, unknown>[]> {
  const { rows } = await service.database.pool.query<Record<string, unknown>>(
    `select actor_user_id as actor, entity_type as type, entity_id as id, metadata - 'source' as metadata
     from audit_log where operation = 'READ' and correlation_id = $1 order by entity_type, id`,
    [correlationId],
  );
  return rows;
}

async function ask(query: string, variables: Record<string, unknown> = {}) {
  const answer = await service.ask(query, { token: reader.token, variables });
  expect(answer.errors).toBeUndefined();
  return { answer, reads: await readsOf(answer) };
}

/** The same by Grafast only, which the server uses when one statement cannot answer. */
async function askGrafast(query: string, variables: Record<string, unknown> = {}) {
  const identity = { ...sessionWith(permissions), userId: reader.userId };
  const requestContext = { ...requestOf(identity), correlationId: randomUUID() };
  const { data, errors } = await alone.answer(query, requestContext, variables);
  expect(errors).toBeUndefined();
  // Untyped, like a client's response.
  return {
    answer: { data: data as Answer["data"] },
    reads: await readsUnder(requestContext.correlationId),
  };
}

describe("nested rows of audited types", () => {
  test("are recorded once per type, with their paths and their number", async () => {
    const { reads } = await ask(`query Calendar { campaigns { title author { email } } }`);
    expect(reads).toEqual([
      {
        actor: reader.userId,
        type: "User",
        id: null,
        metadata: { operation: "Calendar", paths: ["campaigns.author"], rows: 3 },
      },
    ]);
  });

  test("are identified when there is one and the response contains its id", async () => {
    const { answer, reads } = await ask(
      `{ campaigns(first: 2) { author { key: id ...who } } } fragment who on User { email }`,
    );
    expect(answer.data.campaigns).toHaveLength(2);
    expect(reads).toMatchObject([
      { type: "User", id: author.userId, metadata: { paths: ["campaigns.author"], rows: 2 } },
    ]);
    const { reads: several } = await ask(`{ campaigns { author { id } } }`);
    expect(several).toMatchObject([{ type: "User", id: null, metadata: { rows: 3 } }]);
  });

  test("are identified also when their id is not selected, without returning it", async () => {
    const [campaign] = (await service.ask(`{ campaigns { id } }`, { token: reader.token })).data
      .campaigns;
    const text = async (query: string, variables: Record<string, unknown> = {}) => {
      const response = await fetch(`${service.url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${reader.token}` },
        body: JSON.stringify({ query, variables }),
      });
      const body = await response.text();
      const correlationId = response.headers.get("x-correlation-id") ?? "";
      return { body, reads: await readsUnder(correlationId) };
    };
    const byGrafast: typeof text = async (query, variables) => {
      const { answer, reads } = await askGrafast(query, variables);
      return { body: JSON.stringify(answer), reads };
    };
    const shownAuthor = { email: "author@example.com" };
    // Also with a directive, a repeated selection, and a root field that only Grafast answers.
    for (const [aside, also, read] of [
      ["", "", text],
      ["@include(if: true)", "", text],
      ["title", "", text],
      ["", "also: mySessions { createdAt }", text],
      ["", "", byGrafast],
    ] as const) {
      const one = await read(
        `query ($id: ID!) { campaign(id: $id) { title ${aside} author { email } } ${also} }`,
        { id: campaign.id },
      );
      expect(JSON.parse(one.body).data).toMatchObject({
        campaign: { title: "Number 1", author: shownAuthor },
      });
      expect(one.reads).toMatchObject([{ type: "User", id: author.userId, metadata: { rows: 1 } }]);

      const deep = await read(
        `{ campaigns(first: 2) { ...shown title ${aside} } ${also} }
         fragment shown on Campaign { author { roles { name } } }`,
      );
      const [first] = JSON.parse(deep.body).data.campaigns;
      expect(first).toEqual({
        author: { roles: [{ name: expect.any(String) }] },
        title: "Number 1",
      });
      expect(deep.reads).toMatchObject([
        { type: "Role", id: author.roleId, metadata: { rows: 2 } },
        { type: "User", id: author.userId, metadata: { rows: 2 } },
      ]);

      const several = await read(`{ campaigns { author { email } title ${aside} } ${also} }`);
      expect(several.reads).toMatchObject([{ type: "User", id: null, metadata: { rows: 3 } }]);
      const shown = one.body + deep.body + several.body;
      expect(shown).not.toMatch(/auditId|"id"/);
      expect(shown).not.toContain(author.userId);
    }
    const changed = await text(
      `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Anna" }) { name roles { name } } }`,
      { id: author.userId },
    );
    expect(JSON.parse(changed.body).data.updateUser).toEqual({
      name: "Anna",
      roles: [{ name: expect.any(String) }],
    });
    expect(changed.reads).toMatchObject([
      { type: "Role", id: author.roleId },
      { type: "User", id: author.userId },
    ]);
  });

  test("are identified also when directives omit fields, in both engines", async () => {
    const [campaign] = (await service.ask(`{ campaigns { id } }`, { token: reader.token })).data
      .campaigns;
    const email = "author@example.com";
    for (const [inside, shown] of [
      ["author { id @skip(if: $yes) email }", { email }],
      ["author { ... @skip(if: $yes) { id } email }", { email }],
      ["author { a: id @skip(if: $yes) id email }", { id: author.userId, email }],
      ["author @skip(if: $yes) { id } author { email }", { email }],
      ["author @include(if: $yes) { email } author @skip(if: $yes) { id }", { email }],
      ["... @skip(if: $yes) { author { id } } author { email }", { email }],
    ] as const)
      for (const read of [ask, askGrafast]) {
        const { answer, reads } = await read(
          `query ($id: ID!, $yes: Boolean = true) { campaign(id: $id) { title ${inside} } }`,
          { id: campaign.id },
        );
        expect(answer.data.campaign).toEqual({ title: "Number 1", author: shown });
        expect(reads).toMatchObject([
          { type: "User", id: author.userId, metadata: { paths: ["campaign.author"], rows: 1 } },
        ]);
      }
  });

  test("are recorded for each type at any depth, through fragments and aliases", async () => {
    const { reads } = await ask(`{
      all: campaigns { ... on Campaign { by: author { ...more } } }
      first: campaigns(first: 1) { author { ...more } }
    }
    fragment more on User { name roles { name } }`);
    expect(reads).toMatchObject([
      {
        type: "Role",
        metadata: { paths: ["all.by.roles", "first.author.roles"], rows: 4 },
      },
      { type: "User", metadata: { paths: ["all.by", "first.author"], rows: 4 } },
    ]);
  });

  test("are recorded in addition to their root field", async () => {
    const { reads } = await ask(`query ($id: ID!) { user(id: $id) { email roles { id } } }`, {
      id: author.userId,
    });
    expect(reads).toEqual([
      {
        actor: reader.userId,
        type: "Role",
        id: author.roleId,
        metadata: { operation: null, paths: ["user.roles"], rows: 1 },
      },
      {
        actor: reader.userId,
        type: "User",
        id: author.userId,
        metadata: { operation: null, field: "user", arguments: { id: author.userId }, rows: 1 },
      },
    ]);
  });

  test("are counted in pages, and once when they are selected twice", async () => {
    const { reads } = await ask(
      `{ orders(first: 2) { list: nodes { customer { name } } edges { node { totalAmount } } } }`,
    );
    expect(reads).toMatchObject([
      { type: "Customer", metadata: { paths: ["orders.list.customer"], rows: 2 } },
      { type: "Order", metadata: { field: "orders", rows: 2 } },
    ]);
    const { reads: nested } = await ask(
      `{ customers { nodes { orders(first: 3) { edges { node { erpOrderNumber } } } } } }`,
    );
    expect(nested).toMatchObject([
      { type: "Customer", metadata: { field: "customers", rows: 1 } },
      { type: "Order", metadata: { paths: ["customers.nodes.orders"], rows: 3 } },
    ]);
    const { reads: counted } = await ask(`{ orders(includeTotalCount: true) { totalCount } }`);
    expect(counted).toMatchObject([{ type: "Order", metadata: { field: "orders", rows: 0 } }]);
  });

  test("are counted correctly for every selection of a page", async () => {
    const root = (shown: string) => `orders(first: 2, includeTotalCount: true) { ${shown} }`;
    const below = (shown: string, query = "null") =>
      `customers { nodes { orders(last: 2, query: ${query}, includeTotalCount: true) { ${shown} } } }`;
    const none = `"erpOrderNumber:none"`;
    for (const [field, rows] of [
      [root("totalCount"), [0]],
      [root("pageInfo { hasNextPage hasPreviousPage } __typename"), [0]],
      [root("__typename totalCount pageInfo { hasNextPage } nodes { customer { name } }"), [2, 2]],
      [root("edges { cursor node { customer { name } } } pageInfo { endCursor }"), [2, 2]],
      [root("edges { cursor }"), [2]],
      [below("nodes { erpOrderNumber }"), [1, 2]],
      [below("nodes { id } list: nodes { lines { id } }"), [1, 2]],
      [below("edges { cursor node { customer { name } } } pageInfo { startCursor }"), [2, 1, 2]],
      [below("totalCount pageInfo { hasPreviousPage }"), [1, 0]],
      [below("edges { cursor } totalCount"), [1, 2]],
      [below("nodes { id }", none), [1, 0]],
      [below("nodes { customer { name } }", none), [1, 0]],
    ] as const) {
      const directly = await ask(`{ ${field} }`);
      const beside = await ask(`{ ${field} mySessions { createdAt } }`);
      const byGrafast = await askGrafast(`{ ${field} }`);
      expect(directly.reads.map(({ metadata }) => (metadata as { rows: number }).rows)).toEqual(
        rows,
      );
      expect(beside.reads).toEqual(directly.reads);
      expect(byGrafast.reads).toEqual(directly.reads);
      expect(byGrafast.answer.data).toEqual(directly.answer.data);
    }
  });

  test("are identified when they are the only row of a page, for every selection", async () => {
    const order = `select id from orders where erp_order_number = 'B1'`;
    const { rows } = await service.database.pool.query<{ id: string }>(order);
    for (const shown of [
      "nodes { erpOrderNumber }",
      "list: edges { row: node { erpOrderNumber } }",
      "...both",
      "nodes { id @skip(if: true) erpOrderNumber }",
      "nodes @skip(if: true) { id } nodes { erpOrderNumber }",
      "edges { node { erpOrderNumber } } edges @skip(if: true) { node { id } }",
    ]) {
      const both = shown.startsWith("...")
        ? "fragment both on OrderConnection { nodes { own: id } edges { node { erpOrderNumber } } }"
        : "";
      const { answer, reads } = await ask(
        `query ($query: String) { customers { nodes { orders(query: $query) { ${shown} } } } } ${both}`,
        { query: "erpOrderNumber:B1" },
      );
      expect(reads).toMatchObject([
        { type: "Customer" },
        { type: "Order", id: rows[0]?.id, metadata: { rows: 1 } },
      ]);
      expect(JSON.stringify(answer.data)).not.toContain("auditId");
    }
    const { reads: many } = await ask(
      `{ customers { nodes { orders(first: 2) { nodes { erpOrderNumber } } } } }`,
    );
    expect(many).toMatchObject([{ type: "Customer" }, { type: "Order", id: null }]);
  });

  test("are not recorded when they are not selected, skipped or missing", async () => {
    const nothing = [
      `{ campaigns { title } }`,
      `{ campaigns { author @include(if: false) { email } } }`,
      `query ($skip: Boolean = true) { campaigns { ... @skip(if: $skip) { author { email } } } }`,
      `{ campaigns(offset: 100) { author { email } } }`,
      `{ campaign(id: "00000000-0000-7000-8000-000000000000") { author { email } } }`,
      `{ departments { name } }`,
    ];
    for (const query of nothing) expect([query, (await ask(query)).reads]).toEqual([query, []]);
    const refused = await service.ask(`{ campaigns { author { email } } }`, {
      token: (await service.login([])).token,
    });
    expect(refused.errors).toHaveLength(1);
    expect(await readsOf(refused)).toEqual([]);
  });
});

describe("rows of audited types in a mutation's response", () => {
  const touch = `mutation ($id: ID!) { updateUser(id: $id, input: {}) { email roles { name } } }`;

  test("are recorded, also when the mutation changes nothing", async () => {
    const { answer, reads } = await ask(touch, { id: author.userId });
    expect(answer.data.updateUser.email).toBe("author@example.com");
    expect(reads).toEqual([
      {
        actor: reader.userId,
        type: "Role",
        id: author.roleId,
        metadata: { operation: null, paths: ["updateUser.roles"], rows: 1 },
      },
      {
        actor: reader.userId,
        type: "User",
        id: author.userId,
        metadata: { operation: null, paths: ["updateUser"], rows: 1 },
      },
    ]);
    const { rows } = await service.database.pool.query(
      "select from audit_log where correlation_id = $1 and operation <> 'READ'",
      [answer.headers.get("x-correlation-id")],
    );
    expect(rows).toEqual([]);
  });

  test("are recorded without the mutation's arguments", async () => {
    const { reads } = await ask(
      `mutation ($email: String!, $roleId: ID!) { createInvitation(input: {email: $email, roleId: $roleId}) { id } }`,
      { email: "told@example.com", roleId: author.roleId },
    );
    expect(reads).toMatchObject([{ type: "Invitation", metadata: { rows: 1 } }]);
    expect(JSON.stringify(reads)).not.toContain("told@example.com");
  });

  test("are recorded the same by the SQL-JSON path and, with an idempotency key, by Grafast", async () => {
    const records = async (email: string, headers: Record<string, string>) => {
      const answer = await service.ask(
        `mutation Invite($email: String!, $roleId: ID!) { createInvitation(input: {email: $email, roleId: $roleId}) { email status user { name } } }`,
        { token: reader.token, variables: { email, roleId: author.roleId }, headers },
      );
      expect(answer.data).toEqual({
        createInvitation: { email, status: "pending", user: { name: null } },
      });
      const { rows } = await service.database.pool.query<{ id: string }>(
        "select id from invitations where email = $1",
        [email],
      );
      const reads = await readsOf(answer);
      expect(reads[0]).toMatchObject({ type: "Invitation", id: rows[0]?.id });
      return reads.map(({ type, metadata }) => ({ type, metadata }));
    };
    const alone = await records("alone@example.com", {});
    expect(alone).toEqual([
      {
        type: "Invitation",
        metadata: { operation: "Invite", paths: ["createInvitation"], rows: 1 },
      },
      {
        type: "User",
        metadata: { operation: "Invite", paths: ["createInvitation.user"], rows: 1 },
      },
    ]);
    expect(await records("kept@example.com", { "Idempotency-Key": "invite-1" })).toEqual(alone);
  });

  test("are not recorded when the mutation is rejected", async () => {
    const answer = await service.ask(touch, {
      token: (await service.login(["roles.read"])).token,
      variables: { id: author.userId },
    });
    expect(answer.errors?.[0]?.extensions.code).toBe("FORBIDDEN");
    expect(await readsOf(answer)).toEqual([]);
  });
});

describe("the caller's own data", () => {
  test("is not recorded for `me`, the caller's roles and the user of a new login", async () => {
    const { reads } = await ask(`{ me { id email roles { name permissions { key } } } }`);
    expect(reads).toEqual([]);
    const login = await service.ask(
      `mutation { devLogin(email: "author@example.com") { user { email roles { name } } } }`,
    );
    expect(login.errors).toBeUndefined();
    expect(await readsOf(login)).toEqual([]);
  });

  test("does not include colleagues and their roles, which are recorded", async () => {
    await service.database.pool.query(
      "with d as (insert into departments (name) values ('Cellar') returning id) update users set department_id = d.id from d where users.id = any ($1)",
      [[reader.userId, author.userId]],
    );
    const { reads } = await ask(`{ me { roles { name } colleagues { id roles { name } } } }`);
    expect(reads).toMatchObject([
      { type: "Role", metadata: { paths: ["me.colleagues.roles"], rows: 1 } },
      { type: "User", id: author.userId, metadata: { paths: ["me.colleagues"], rows: 1 } },
    ]);
    const login = await service.ask(
      `mutation { devLogin(email: "author@example.com") { user { roles { name } colleagues { email } } } }`,
    );
    expect(await readsOf(login)).toMatchObject([
      {
        actor: author.userId,
        type: "User",
        id: reader.userId,
        metadata: { paths: ["devLogin.user.colleagues"], rows: 1 },
      },
    ]);
  });
});

describe("the record", () => {
  test("is written in one transaction for all reads of an operation", async () => {
    const { answer, reads } = await ask(
      `{ users { roles { name } } orders { nodes { customer { name } } } roles { name } }`,
    );
    expect(reads.map(({ type }) => type)).toEqual(["Customer", "Order", "Role", "Role", "User"]);
    const { rows } = await service.database.pool.query<{ transactions: number }>(
      "select count(distinct xmin::text)::integer as transactions from audit_log where correlation_id = $1",
      [answer.headers.get("x-correlation-id")],
    );
    expect(rows).toEqual([{ transactions: 1 }]);
  });
});
