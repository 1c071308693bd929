import type { ErpCustomer, ErpOrder, UnreadableErpRecord } from "../gateways/erp.ts";
import type { ErpRun } from "./defineErpTask.ts";

/** The JSON argument of `import_from_erp`. */
export interface ErpResponse {
  orders?: ErpOrder[];
  customers?: ErpCustomer[];
  unreadableOrders?: UnreadableErpRecord[];
  unreadableCustomers?: UnreadableErpRecord[];
  /** Items that neither the ERP nor the catalogue contains. */
  unknownItems?: string[];
  invoiced?: string[];
  missing?: string[];
  /** Customers with a failure that the ERP no longer has. */
  missingCustomers?: string[];
}

/**
 * Adds to orders the customers that are not imported yet, and the numbers of items that do not exist. No transaction is
 * open during the ERP requests.
 */
export async function completeOrders(
  run: ErpRun,
  orders: ErpOrder[],
  unreadable: UnreadableErpRecord[],
): Promise<ErpResponse> {
  const customers = orders.map((order) => order.customerNumber).filter((number) => number !== null);
  const items = orders
    .flatMap((order) => order.lines)
    .filter((line) => line.productGroup === null)
    .map((line) => line.itemNumber)
    .filter((number) => number !== null);
  const unknown = await run.inTenant(async (database) => {
    const { rows } = await database.query<{ customers: string[]; items: string[] }>(
      "select unknown_customers as customers, unknown_items as items from unknown_in_page($1, $2)",
      [customers, items],
    );
    return rows[0] ?? { customers: [], items: [] };
  });
  const [found, known] = await Promise.all([
    unknown.customers.length === 0
      ? undefined
      : run.client.customersByNumbers(unknown.customers, run.call),
    unknown.items.length === 0 ? undefined : run.client.itemsByNumbers(unknown.items, run.call),
  ]);
  return {
    orders,
    unreadableOrders: unreadable,
    customers: found?.records ?? [],
    unreadableCustomers: found?.unreadable ?? [],
    unknownItems: known?.missing ?? [],
  };
}
