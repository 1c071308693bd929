import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

// Backward relations: from a referenced row to the rows that refer to it.
let service: Service;

beforeAll(async () => {
  service = await startService();
  await service.database.pool.query(`
    insert into departments (name) values ('Cellar');
    insert into users (email, is_active, department_id)
    select n || '@example.com', true, id from departments, unnest(array['anna', 'bo']) n;
    insert into products (erp_product_number, name, wine_type_id)
    select n::text, 'Wine ' || lpad(n::text, 3, '0'), t.id from generate_series(1, 300) n, wine_types t where t.name = 'Red';
    insert into reviewers (name) values ('Busy'), ('Idle');
    insert into product_ratings (product_id, reviewer_id, year, points)
    select p.id, r.id, 2026, 90 from products p, reviewers r where r.name = 'Busy';
    insert into campaigns (product_id, title, price, author_user_id, medium, scheduled_at)
    select p.id, 'Campaign ' || n, '1', u.id, 'EMAIL', now() + make_interval(days => n)
    from products p, users u, generate_series(1, 3) n where p.erp_product_number = '1' and u.email = 'anna@example.com';
    insert into roles (name) values ('Role');
    insert into invitations (user_id, email, role_id, expires_at, invited_by_user_id)
    select b.id, b.email, r.id, now() + interval '1 day', a.id
    from users a, users b, roles r where a.email = 'anna@example.com' and b.email = 'bo@example.com' and r.name = 'Role'`);
});
afterAll(() => service.stop());

const all = [
  ...["products.read", "reviewers.read", "campaigns.read"],
  ...["users.read", "departments.read", "invitations.read"],
];
/** The data for a caller with these permissions; fails on errors. */
async function as(permissions: readonly string[], query: string) {
  const { token } = await service.login(permissions);
  const { data, errors } = await service.ask(query, { token });
  expect(errors).toBeUndefined();
  return data;
}

const without = (keys: readonly string[]) => all.filter((one) => !keys.includes(one));
const product = `products(query: "erpProductNumber:1") { nodes { name`;

/** Each relation: its query, the result with its permissions, and the result without them. */
const relations = [
  {
    name: "Product.campaigns",
    query: `{ ${product} campaigns { nodes { title author { email } } } } } }`,
    seen: {
      name: "Wine 001",
      campaigns: {
        nodes: [3, 2, 1].map((n) => ({
          title: `Campaign ${n}`,
          author: { email: "anna@example.com" },
        })),
      },
    },
    lacking: ["campaigns.read"],
    hidden: { name: "Wine 001", campaigns: { nodes: [] } },
  },
  {
    name: "WineType.products",
    query: `{ wineTypes { name products(query: "name:wine*", first: 1, includeTotalCount: true) { totalCount nodes { name } } } }`,
    seen: { name: "Red", products: { totalCount: 300, nodes: [{ name: "Wine 001" }] } },
    lacking: [],
    hidden: null,
  },
  {
    name: "Reviewer.ratings",
    query: `{ reviewers { name ratings(first: 1, includeTotalCount: true) { totalCount nodes { points product { erpProductNumber } } } } }`,
    seen: {
      name: "Busy",
      ratings: {
        totalCount: 300,
        nodes: [{ points: "90.00", product: { erpProductNumber: expect.any(String) } }],
      },
    },
    // With campaigns.read, a caller sees the products and authors of campaigns.
    lacking: ["products.read", "campaigns.read"],
    hidden: {
      name: "Busy",
      ratings: { totalCount: 300, nodes: [{ points: "90.00", product: null }] },
    },
  },
  {
    name: "User.campaigns",
    query: `{ users { email campaigns(first: 1) { nodes { title } } } }`,
    seen: { email: "anna@example.com", campaigns: { nodes: [{ title: "Campaign 3" }] } },
    lacking: ["campaigns.read"],
    hidden: { email: "anna@example.com", campaigns: { nodes: [] } },
  },
  {
    name: "Department.members",
    query: `{ departments { name members { nodes { email } } } }`,
    seen: {
      name: "Cellar",
      members: { nodes: [{ email: "anna@example.com" }, { email: "bo@example.com" }] },
    },
    lacking: ["users.read", "campaigns.read"],
    hidden: { name: "Cellar", members: { nodes: [] } },
  },
  {
    name: "Invitation.user and Invitation.invitedBy",
    query: `{ invitations { email user { email } invitedBy { email } } }`,
    seen: {
      email: "bo@example.com",
      user: { email: "bo@example.com" },
      invitedBy: { email: "anna@example.com" },
    },
    lacking: ["users.read", "campaigns.read"],
    hidden: { email: "bo@example.com", user: null, invitedBy: null },
  },
];
/** The rows of the only root field. */
const rowsOf = (data: Record<string, { nodes?: unknown[] } | unknown[]>) => {
  const [rows] = Object.values(data);
  return Array.isArray(rows) ? rows : rows?.nodes;
};

describe.each(relations)("$name", ({ query, seen, lacking, hidden }) => {
  test("returns the related rows", async () => {
    expect(rowsOf(await as(all, query))).toContainEqual(seen);
  });

  test("omits rows that the caller cannot read, without an error", async () => {
    // A relation without its own permission hides nothing.
    if (hidden !== null) expect(rowsOf(await as(without(lacking), query))).toContainEqual(hidden);
    expect((await service.ask(query)).errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});

test("nested pages continue in both directions, and their size is limited", async () => {
  const page = async (args: string) => {
    const data = await as(
      all,
      `{ reviewers { name ratings(${args}) { nodes { id } pageInfo { endCursor startCursor hasNextPage } } } }`,
    );
    const { nodes, pageInfo } = data.reviewers.find(
      (one: { name: string }) => one.name === "Busy",
    ).ratings;
    return { ids: nodes.map(({ id }: { id: string }) => id) as string[], pageInfo };
  };
  const first = await page("first: 250");
  const rest = await page(`first: 250, after: "${first.pageInfo.endCursor}"`);
  expect([first.ids.length, rest.ids.length]).toEqual([250, 50]);
  expect(new Set([...first.ids, ...rest.ids]).size).toBe(300);
  expect(rest.pageInfo.hasNextPage).toBe(false);
  const back = await page(`last: 2, before: "${rest.pageInfo.startCursor}"`);
  expect(back.ids).toEqual(first.ids.slice(-2));
  // Without arguments the result is a page, not all rows.
  expect((await page("orderBy: [ID_ASC]")).ids).toHaveLength(50);
  const { token } = await service.login(all);
  const { errors } = await service.ask(`{ reviewers { ratings(first: 251) { nodes { id } } } }`, {
    token,
  });
  expect(errors?.[0]).toMatchObject({
    message: "first must be from 0 to 250",
    extensions: { code: "BAD_USER_INPUT" },
  });
});
