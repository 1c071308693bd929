import type pg from "pg";
import type { ConstantOverrides } from "../../../src/settings/constants.ts";
import type { ErpEmulator } from "../../../dev/emulators/erpEmulator.ts";
import { startErpEmulator } from "../../../dev/emulators/erpEmulator.ts";
import type { OrderFault } from "../../../dev/emulators/erp/orderMaker.ts";
import { orderFaults } from "../../../dev/emulators/erp/orderMaker.ts";
import type { TestDatabase } from "../database.ts";
import { createDatabase } from "../database.ts";
import { waitFor } from "../waitFor.ts";

type RunKind = "IMPORT" | "RECHECK" | "DATA_RECHECK" | "ORDER";

/** The tested columns of an import run. */
export interface RunRow {
  id: string;
  kind: RunKind;
  status: string;
  error: string | null;
  attempts: number;
  failures: number;
  orders_total: number | null;
  orders_done: number;
  orders_created: number;
  orders_updated: number;
  orders_unchanged: number;
  orders_missing: number;
}

/** An emulated ERP and a database that imports from it. */
export interface ErpWorld {
  database: TestDatabase;
  erp: ErpEmulator;
  /** Settings for workers: the emulator. */
  env: Readonly<Record<string, string>>;
  /** Constants for workers: few orders in a page, and short waits. */
  constants: ConstantOverrides;
  sql: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>;
  /** Calls the emulator's control API: `POST faults`, `PATCH salesOrders/<number>` and so on. */
  // Responses differ by request.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  control: (request: string, body?: unknown) => Promise<any>;
  /** Queues a run as a staff member; returns its id. */
  queue: (kind: RunKind, number?: string) => Promise<string>;
  run: (id: string) => Promise<RunRow>;
  /** Waits until the run has ended. */
  waitUntilEnded: (id: string, timeoutMs?: number) => Promise<RunRow>;
  /** Queues a run and waits until it has ended. */
  runToEnd: (kind: RunKind, number?: string) => Promise<RunRow>;
  stop: () => Promise<void>;
}

/** @param size the number of orders and customers of the emulated company; every twentieth order has a fault */
export async function startErpWorld(size: {
  orders: number;
  customers?: number;
  pageSize?: number;
}): Promise<ErpWorld> {
  const [database, erp] = await Promise.all([
    createDatabase(),
    startErpEmulator({
      port: 0,
      seed: "test",
      orders: size.orders,
      customers: size.customers ?? 40,
      items: 60,
    }),
  ]);
  const sql: ErpWorld["sql"] = async (text, values) =>
    (await database.pool.query(text, values)).rows;
  const run = async (id: string) => {
    const [row] = await sql<RunRow>("select * from erp_sync_runs where id = $1", [id]);
    if (!row) throw new Error(`there is no run ${id}`);
    return row;
  };
  const queue: ErpWorld["queue"] = async (kind, number) => {
    const [row] = await sql<{ id: string }>("select (queue_erp_run($1, $2)).id", [kind, number]);
    return row!.id;
  };
  const ended: ErpWorld["waitUntilEnded"] = (id, timeoutMs = 60_000) =>
    waitFor(
      "the run to end",
      async () => {
        const found = await run(id);
        return ["SUCCEEDED", "FAILED", "CANCELLED"].includes(found.status) && found;
      },
      timeoutMs,
    );
  return {
    database,
    erp,
    env: erp.env,
    constants: {
      erp: {
        pageSize: size.pageSize ?? 25,
        retries: 1,
        longestWaitMs: 100,
        timeoutMs: 2_000,
        breakerMs: 100,
      },
    },
    sql,
    async control(request, body) {
      const [method, path = ""] = request.split(" ");
      const response = await fetch(`${erp.controlUrl}/${path}`, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
      });
      if (!response.ok) throw new Error(`${request}: ${await response.text()}`);
      return response.json();
    },
    queue,
    run,
    waitUntilEnded: ended,
    runToEnd: async (kind, number) => ended(await queue(kind, number)),
    async stop() {
      await erp.stop();
      await database.drop();
    },
  };
}

/** The order numbers of the emulated company. */
export function orderNumbers(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `S-ORD${100_001 + index}`);
}

/** The fault of an emulated order. */
export function faultOf(number: string): OrderFault | null {
  const index = Number(number.slice("S-ORD".length)) - 100_001;
  return index % 20 === 19
    ? (orderFaults[Math.floor(index / 20) % orderFaults.length] ?? null)
    : null;
}

interface StoredOrder {
  number: string;
  total: string;
  lines: number;
  quantity: string;
  customer: string | null;
  issues: string[];
  superseded_by: string | null;
}

/** All stored orders. Fails when an order or a line exists twice. */
export function storedOrders(world: ErpWorld): Promise<StoredOrder[]> {
  return world.sql<StoredOrder>(
    `select o.erp_order_number as number, o.total_amount as total, c.erp_customer_number as customer,
       s.erp_order_number as superseded_by, l.lines, l.quantity,
       array(select i.code from order_import_issues i where i.order_id = o.id and i.resolved_at is null order by i.code) as issues
     from orders o left join customers c on c.id = o.customer_id left join orders s on s.id = o.superseded_by_order_id,
       lateral (
         select count(*)::integer as lines, coalesce(sum(l.quantity), 0)::text as quantity from order_lines l where l.order_id = o.id
       ) as l
     order by o.erp_order_number`,
  );
}

interface ErpLine {
  quantity: number;
}

/** All orders of the emulator, in the form of `storedOrders`. */
export async function emulatorOrders(world: ErpWorld, numbers: string[]): Promise<StoredOrder[]> {
  const orders: StoredOrder[] = [];
  for (const number of numbers) {
    const row = await world.control(`GET salesOrders/${number}`);
    const fault = faultOf(number);
    const lines = row.salesOrderLines as ErpLine[];
    const next = numbers[numbers.indexOf(number) + 1];
    orders.push({
      number,
      total: Number(row.totalAmountIncludingTax).toFixed(2),
      lines: lines.length,
      quantity: lines.reduce((sum, line) => sum + line.quantity, 0).toFixed(3),
      customer: fault === "customer.missing" ? null : row.customerNumber,
      issues: fault === null || fault === "superseding" ? [] : [fault],
      superseded_by: next !== undefined && faultOf(next) === "superseding" ? next : null,
    });
  }
  return orders;
}
