import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { buildApi } from "../../src/migration/printApi.ts";
import { allPermissions, insertApiToken } from "../helpers/apiToken.ts";
import { type Service, startService } from "../helpers/service.ts";
import { type RootField, rootFields } from "../helpers/graphql/rootFields.ts";

let service: Service;
let fields: RootField[];
let token: string;

beforeAll(async () => {
  service = await startService();
  fields = rootFields(await buildApi(service.database.pool, "backoffice"));
  const owner = await service.login(await allPermissions(service.database));
  ({ token } = await insertApiToken(service.database, owner.userId, [
    "erpsync.read",
    "orders.read",
  ]));
  await service.database.pool.query(
    `with o as (insert into orders (erp_order_number, placed_at) values ('SO-1', now()) returning id)
     insert into order_import_issues (order_id, kind, code, key, message)
     select id, 'MAPPING', 'line_kind.unmapped', 'GLASS', 'No rule' from o`,
  );
});
afterAll(async () => {
  await service.stop();
});

describe("a token scoped to `erpsync.read` and `orders.read`", () => {
  test("reads the import issues, and lists the orders with issues", async () => {
    const answer = await service.ask(
      `{ erpOrderImportIssues { code key sampleOrders { erpOrderNumber } }
         erpOrderHealth { ordersWithMappingIssues }
         orders(query: "hasImportMappingIssue:true") { nodes { erpOrderNumber importIssues { key } } } }`,
      { token },
    );
    expect(answer.errors).toBeUndefined();
    expect(answer.data).toEqual({
      erpOrderImportIssues: [
        { code: "line_kind.unmapped", key: "GLASS", sampleOrders: [{ erpOrderNumber: "SO-1" }] },
      ],
      erpOrderHealth: { ordersWithMappingIssues: 1 },
      orders: { nodes: [{ erpOrderNumber: "SO-1", importIssues: [{ key: "GLASS" }] }] },
    });
  });

  test("cannot start any synchronisation", async () => {
    const starting = fields.filter(
      ({ kind, guard }) =>
        kind === "mutation" && /\b(productsync|erpsync)\.run\b/.test(String(guard)),
    );
    expect(starting.map(({ name }) => name)).toContain("triggerProductSync");
    const jobs = () =>
      service.database.pool.query("select id from graphile_worker._private_jobs order by id");
    const before = (await jobs()).rows;
    for (const { name, document, variables } of starting) {
      const { errors } = await service.ask(document, { token, variables });
      expect([name, errors]).toMatchObject([
        name,
        [
          {
            message: expect.stringMatching(
              /^Missing required permission: (productsync|erpsync)\.run$/,
            ),
            extensions: { code: "FORBIDDEN" },
          },
        ],
      ]);
    }
    expect((await jobs()).rows).toEqual(before);
  });
});
