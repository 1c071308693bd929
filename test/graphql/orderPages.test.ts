import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertOrderRows } from "../helpers/orderRows.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

const orders = 100_000;
let service: Service;
let token: string;

/** Nine in ten orders were placed at the same time. bench/lists.ts covers other sort orders. */
beforeAll(async () => {
  service = await startService();
  const client = await service.database.pool.connect();
  await insertOrderRows(client, { orders, tied: 0.9 });
  client.release();
  ({ token } = await service.login(["orders.read"]));
});
afterAll(async () => {
  await service.stop();
});

interface Page {
  nodes: { erpOrderNumber: string }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string;
    endCursor: string;
  };
}

async function read(variables: Record<string, unknown>): Promise<Page> {
  const { data, errors } = await service.ask(
    `query ($first: Int, $last: Int, $after: Cursor, $before: Cursor) {
      orders(first: $first, last: $last, after: $after, before: $before) {
        nodes { erpOrderNumber } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
    { token, variables },
  );
  expect(errors).toBeUndefined();
  return data.orders as Page;
}

/** The order numbers of all pages in order. */
async function walk(backwards: boolean): Promise<string[]> {
  const numbers: string[] = [];
  let cursor: string | null = null;
  for (;;) {
    const paging: Record<string, unknown> = backwards
      ? { last: 250, before: cursor }
      : { first: 250, after: cursor };
    const { nodes, pageInfo } = await read(paging);
    const page = nodes.map((node) => node.erpOrderNumber);
    if (backwards) numbers.unshift(...page);
    else numbers.push(...page);
    cursor = backwards ? pageInfo.startCursor : pageInfo.endCursor;
    if (!(backwards ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) return numbers;
  }
}

describe("the pages of 100,000 orders with 90 % equal sort values", () => {
  test("contain every order once, forwards and backwards", async () => {
    const { rows } = await service.database.pool.query<{ number: string }>(
      "select erp_order_number as number from orders order by placed_at desc, id desc",
    );
    const whole = rows.map((row) => row.number);
    expect(whole).toHaveLength(orders);
    expect(await walk(false)).toEqual(whole);
    expect(await walk(true)).toEqual(whole);
  });

  test("neither repeat nor skip existing orders during concurrent changes", async () => {
    const first = await read({ first: 250 });
    const seen = first.nodes.map((node) => node.erpOrderNumber);
    await service.database.pool.query(
      `delete from orders where erp_order_number in ('${seen[0]}', '${seen[249]}');
       insert into orders (erp_order_number, placed_at) values ('new', '2099-01-01Z')`,
    );
    const second = await read({ first: 250, after: first.pageInfo.endCursor });
    const { rows } = await service.database.pool.query<{ number: string }>(
      "select erp_order_number as number from orders order by placed_at desc, id desc limit 250 offset 249",
    );
    expect(second.nodes.map((node) => node.erpOrderNumber)).toEqual(rows.map((row) => row.number));
  });
});
