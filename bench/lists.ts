import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../src/migration/migrate.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { insertOrderRows } from "../test/helpers/orderRows.ts";
import { startServerProcess } from "../test/helpers/service.ts";
import { readCounts } from "./readCounts.ts";

// Lists over 100,000 orders with 300,000 lines and a million open import issues, over HTTP with the real server:
//   npm run bench -- lists [orders]
// Nine in ten orders share one time and one amount. The benchmark reads every page of 250 in both directions and checks that
// no order is repeated or skipped.

const { orders } = readCounts({ orders: 100_000 });
const pageSize = 250;
const repeats = 9;

const server = await startLocalPostgres({
  dataDir: join(tmpdir(), `lists-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
try {
  await migrate({ ownerUrl: server.url, tenant: "backoffice" }, () => {});
  const pool = new pg.Pool({
    connectionString: server.url,
    options: "-c search_path=backoffice,extensions,pg_temp",
  });
  const client = await pool.connect();
  const started = performance.now();
  await insertOrderRows(client, { orders, issuesPerOrder: 10, linesPerOrder: 3, tied: 0.9 });
  // A value of few orders, for which an index is useful.
  await client.query(
    `set session_replication_role = replica;
     update orders set has_import_mapping_issue = false where erp_order_number::integer % 100 <> 7;
     set session_replication_role = default`,
  );
  await client.query("vacuum analyze orders");
  client.release();
  console.log(`${orders} orders made in ${Math.round((performance.now() - started) / 1000)} s`);

  const service = await startServerProcess({
    database: { url: server.url, pool, drop: async () => {} },
    env: { LOG_LEVEL: "warn" },
  });
  const { token } = await service.login(["orders.read", "customers.read", "erpsync.read"]);

  const ask = async (query: string, variables: Record<string, unknown> = {}) => {
    const answer = await service.ask(query, { token, variables });
    assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
    return answer.data as { orders: Page };
  };

  console.log(`\nmedian and worst of ${repeats}, over HTTP, in ms`);
  const measure = async (name: string, query: string) => {
    const times: number[] = [];
    for (let turn = 0; turn <= repeats; turn++) {
      const from = performance.now();
      await ask(query);
      // The first request includes planning and compilation.
      if (turn > 0) times.push(performance.now() - from);
    }
    const [median, worst] = [times.toSorted((a, b) => a - b)[repeats >> 1], Math.max(...times)];
    console.log(
      `${name.padEnd(62)}${(median ?? NaN).toFixed(0).padStart(7)}${worst.toFixed(0).padStart(7)}`,
    );
  };
  await measure(
    "a page of 50 with issues, lines and customer",
    "{ orders { nodes { erpOrderNumber importIssues { code key } lines { amount } customer { name } } } }",
  );
  await measure(
    "hasImportMappingIssue:true, 1 % of the orders",
    `{ orders(query: "hasImportMappingIssue:true") { nodes { erpOrderNumber } } }`,
  );
  await measure(
    "the same with includeTotalCount",
    `{ orders(query: "hasImportMappingIssue:true", includeTotalCount: true) { totalCount } }`,
  );
  await measure(
    "an order by its number",
    `{ orders(query: "erpOrderNumber:00012345") { nodes { id } } }`,
  );
  await measure("a word, within four columns", `{ orders(query: "0012345") { nodes { id } } }`);
  await measure(
    "includeTotalCount of all",
    "{ orders(first: 0, includeTotalCount: true) { totalCount } }",
  );
  await measure(
    "count, sum and average of all",
    "{ orders(first: 0) { aggregates { count sum { totalAmount } average { totalAmount } } } }",
  );
  await measure(
    "sums grouped by month and status",
    "{ orders(first: 0) { groupedAggregates(groupBy: [PLACED_AT_TRUNCATED_TO_MONTH, STATUS]) { keys count sum { totalAmount } } } }",
  );
  await measure(
    "erpOrderImportIssues, 50 groups of a million issues",
    "{ erpOrderImportIssues { code key orderCount occurrences sampleOrders { erpOrderNumber } } }",
  );
  await measure(
    "erpOrderImportIssues(limit: 200)",
    "{ erpOrderImportIssues(limit: 200) { code key orderCount sampleOrders { erpOrderNumber } } }",
  );
  await measure(
    "erpOrderHealth",
    "{ erpOrderHealth { ordersWithMappingIssues ordersWithDataIssues } }",
  );

  console.log(`\nevery page of ${pageSize}: seconds, then the median and the slowest page in ms`);
  for (const orderBy of [null, ["TOTAL_AMOUNT_ASC"]])
    for (const backwards of [false, true]) {
      const seen = new Set<string>();
      const times: number[] = [];
      let cursor: string | null = null;
      for (;;) {
        const from = performance.now();
        const { orders: page }: { orders: Page } = await ask(
          `query ($first: Int, $last: Int, $after: Cursor, $before: Cursor, $orderBy: [OrderOrderBy!]) {
              orders(first: $first, last: $last, after: $after, before: $before, orderBy: $orderBy) {
                nodes { erpOrderNumber } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`,
          backwards
            ? { last: pageSize, before: cursor, orderBy }
            : { first: pageSize, after: cursor, orderBy },
        );
        times.push(performance.now() - from);
        for (const { erpOrderNumber } of page.nodes) {
          assert(!seen.has(erpOrderNumber), `${erpOrderNumber} came twice`);
          seen.add(erpOrderNumber);
        }
        const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo;
        cursor = backwards ? startCursor : endCursor;
        if (!(backwards ? hasPreviousPage : hasNextPage)) break;
      }
      assert.equal(seen.size, orders);
      const name = `${orderBy?.join() ?? "the default order"}, ${backwards ? "backwards" : "forwards"}`;
      const sorted = times.toSorted((a, b) => a - b);
      const total = times.reduce((sum, time) => sum + time, 0) / 1000;
      console.log(
        name.padEnd(62) +
          `${total.toFixed(1).padStart(7)}${(sorted[sorted.length >> 1] ?? NaN).toFixed(0).padStart(7)}${(sorted.at(-1) ?? NaN).toFixed(0).padStart(7)}`,
      );
    }
  await service.stop();
  await pool.end();
} finally {
  await server.stop();
}

interface Page {
  nodes: { erpOrderNumber: string }[];
  pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string;
    endCursor: string;
  };
}
