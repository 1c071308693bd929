import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { GraphQLSchema } from "graphql";
import { buildApi } from "../../src/migration/printApi.ts";
import { own, seedDatabase } from "../../dev/access/seed.ts";
import { allPermissions } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import {
  type HiddenEntry,
  compare,
  foreignRows,
  hiddenIn,
  nestedDocuments,
} from "../helpers/graphql/nestedFields.ts";

/** Relations that the rows of the matrix lack. */
const links = `
  update invitations set invited_by_user_id = '${own.user}';
  update resource_bookings set booked_by_user_id = (select author_user_id from campaigns order by id limit 1)
  where id = (select id from resource_bookings order by id limit 1);
  update away_periods set user_id = (select author_user_id from campaigns order by id limit 1)
  where id = (select id from away_periods order by id limit 1);
  update order_lines set product_id = (select id from products order by id limit 1);
  update orders set superseded_by_order_id = (select id from orders where erp_order_number = 'Understood')
  where erp_order_number = 'Not understood';
  insert into products (erp_product_number, name, wine_type_id)
  select '3', 'In no campaign', wine_type_id from products where erp_product_number = '1';
  insert into orders (erp_order_number, placed_at, customer_id) select 'Sample', now(), id from customers limit 1;
  insert into order_import_issues (order_id, kind, code, key, message)
  select id, 'MAPPING', 'line_kind.unmapped', 'S', 'No rule' from orders where erp_order_number = 'Sample';
  update users set department_id = (select id from departments order by id limit 1) where id = '${own.user}';`;

let service: Service;
let keys: string[];
let schema: GraphQLSchema;
let documents: Map<string, string>;
/** The responses to holders of every permission. */
const everything = new Map<string, Record<string, unknown>>();

const ask = async (query: string, token: string) => {
  const answer = await service.ask(query, { token });
  return { ...answer, hidden: hiddenIn(answer) };
};
type Asked = Awaited<ReturnType<typeof ask>>;
/** The responses to holders of one permission, shared by several tests because no data changes. */
const asked = new Map<string, Promise<[name: string, answer: Asked][]>>();
const answersTo = (key: string) => {
  const known = asked.get(key);
  if (known) return known;
  const answers = holderOf([key]).then(async ({ token }) => {
    const found: [string, Asked][] = [];
    for (const [name, document] of documents)
      found.push([name, await ask(`{ ${document} }`, token)]);
    return found;
  });
  asked.set(key, answers);
  return answers;
};
/** Their addresses sort last, so that pages of users have the same rows for all callers. */
const holderOf = (permissions: readonly string[]) =>
  service.login(permissions, `zz-${randomUUID()}@example.com`);
const pathsOf = (hidden: HiddenEntry[] = []) =>
  hidden.map(({ path }) => path.filter((key) => key !== "nodes").join("."));

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "error" } });
  await seedDatabase(service.database.pool);
  await service.database.pool.query(links);
  keys = await allPermissions(service.database);
  schema = await buildApi(service.database.pool, "backoffice");
  documents = nestedDocuments(schema, 3);
  const { token } = await holderOf(keys);
  for (const [name, document] of documents) {
    const { data, errors, hidden } = await ask(`{ ${document} }`, token);
    expect([name, errors, hidden]).toEqual([name, undefined, undefined]);
    everything.set(name, data);
  }
});
afterAll(() => service.stop());

test("the documents select the relations of every list", () => {
  expect([...documents.keys()]).toEqual(
    expect.arrayContaining(["products", "orders", "users", "campaigns", "erpOrderImportIssues"]),
  );
  expect(documents.get("orders")).toContain("customer {");
});

test("each nested field is readable with one permission or listed in extensions.hidden", async () => {
  const silent: string[] = [];
  const needless: string[] = [];
  let listed = 0;
  for (const key of keys)
    for (const [name, { data, hidden }] of await answersTo(key)) {
      if (!data?.[name]) continue;
      const { lost, whole } = compare(everything.get(name), data);
      const hiddenPaths = pathsOf(hidden);
      listed += hiddenPaths.length;
      expect(new Set(hiddenPaths).size).toBe(hiddenPaths.length);
      for (const path of lost)
        if (!hiddenPaths.some((one) => path === one || path.startsWith(`${one}.`)))
          silent.push(`${key}: ${path}`);
      for (const path of hiddenPaths)
        if (whole.has(path) && !lost.has(path)) needless.push(`${key}: ${path}`);
    }
  expect({ silent, needless }).toEqual({ silent: [], needless: [] });
  expect(listed).toBeGreaterThan(50);
});

test("only documented fields show rows that the caller cannot read at the root", async () => {
  const reached = new Set<string>();
  for (const key of keys)
    for (const [, { data }] of await answersTo(key))
      for (const field of foreignRows(schema, data, key)) reached.add(field);
  expect([...reached].sort()).toEqual([
    // An author of campaigns, as below.
    "AwayPeriod.user",
    "Campaign.author",
    "Campaign.product",
    "OrderImportIssueGroup.sampleOrders",
    // Authors and products of campaigns, as above.
    "ResourceBooking.bookedBy",
    "User.colleagues",
    "WineType.products",
  ]);
});

test("the named permission makes the field readable", async () => {
  const unopened: string[] = [];
  for (const key of keys)
    for (const [name, { hidden = [] }] of await answersTo(key)) {
      const named = [...new Set(hidden.map(({ requiredPermission }) => requiredPermission))];
      if (named.length === 0) continue;
      const holder = await holderOf([key, ...named]);
      const after = await ask(`{ ${documents.get(name)} }`, holder.token);
      const { lost } = compare(everything.get(name), after.data);
      for (const path of pathsOf(hidden)) if (lost.has(path)) unopened.push(`${key}: ${path}`);
    }
  expect(unopened).toEqual([]);
});
