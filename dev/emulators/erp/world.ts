import { makeMasterData } from "./masterData.ts";
import { codeSets, localCurrency } from "./codes.ts";
import type { OrderFault } from "./orderMaker.ts";
import { makeOrder, orderFaults } from "./orderMaker.ts";
import { idOf, noId, randomOf } from "./random.ts";
import type { Row, Table } from "./table.ts";
import { makeTable, textOf } from "./table.ts";

export interface WorldOptions {
  seed: string;
  orders: number;
  customers: number;
  items: number;
  /** One of this many orders has a fault, of each kind in turn; 0 disables faults. */
  faultEvery: number;
}

/** The data of the emulated company, and its changes. */
export interface World {
  companyId: string;
  /** The company's own record. */
  company: Row;
  /** By name of the entity set. */
  tables: Readonly<Record<string, Table>>;
  /** The time of the ERP's clock, in milliseconds since 1970. */
  now(): number;
  /** Sets the difference between the ERP's clock and this machine's, in milliseconds. */
  skew(ms: number): void;
  /** Places a new order; returns its number. */
  addOrder(fault: OrderFault | null, properties: Row): string;
  /** Generates an order again without its fault. False when no order has this number. */
  repair(number: string): boolean;
  /** Removes an order, and adds its invoice if wanted. False when no order has this number. */
  endOrder(number: string, invoiced: boolean): boolean;
}

// Generated data end at a fixed time, so that later changes are always newer.
const lastChange = Date.parse("2025-06-30T12:00:00.000Z");
const historyMs = 2 * 365 * 86_400_000;

const orderNumber = (index: number) => `S-ORD${100_001 + index}`;

export function makeWorld(options: WorldOptions): World {
  const { seed, orders, customers, items, faultEvery } = options;
  const masterData = makeMasterData(seed, { customers, items });
  const spread = (count: number) => (index: number) =>
    lastChange - Math.floor(((count - 1 - index) * historyMs) / Math.max(count, 1));
  let skewMs = 0;
  let added = 0;
  const now = () => Date.now() + skewMs;

  /** The customer of a generated order without a fault. An order that replaces it has the same customer. */
  const customerOf = (index: number) => masterData.someCustomer(randomOf(seed, "order", index));
  const replacedBy = (index: number) => {
    const number = orderNumber(index - 1);
    return index === 0 ? undefined : { number, customer: customerOf(index - 1) };
  };
  const faultAt = (index: number): OrderFault | null => {
    if (faultEvery === 0 || index % faultEvery !== faultEvery - 1) return null;
    return orderFaults[Math.floor(index / faultEvery) % orderFaults.length] ?? null;
  };
  const order = (index: number, fault: OrderFault | null, placedAt: number) => {
    const replaces = fault === "superseding" ? replacedBy(index) : undefined;
    return makeOrder(masterData, seed, {
      ...{ index, number: orderNumber(index), placedAt, fault },
      ...(replaces === undefined ? {} : { replaces }),
    });
  };

  const orderTime = spread(orders);
  const salesOrders = makeTable({
    count: orders,
    keyAt: orderNumber,
    modifiedAt: orderTime,
    make: (index) => order(index, faultAt(index), orderTime(index)),
  });
  const salesInvoices = makeTable(empty);
  const tables: Record<string, Table> = {
    salesOrders,
    salesInvoices,
    customers: makeTable({
      count: customers,
      keyAt: masterData.customerNumber,
      modifiedAt: spread(customers),
      make: masterData.customer,
    }),
    items: makeTable({
      count: items,
      keyAt: masterData.itemNumber,
      modifiedAt: spread(items),
      make: masterData.item,
    }),
    companyInformation: listOf([companyInformation(seed)]),
  };
  for (const [set, rows] of Object.entries(codeSets)) tables[set] = listOf(rows);

  const indexOf = (number: string) => Number(/^S-ORD(\d+)$/.exec(number)?.[1] ?? 0) - 100_001;
  return {
    companyId: idOf(seed, "company"),
    company: companyRecord(seed),
    tables,
    now,
    skew(ms) {
      skewMs = ms;
    },
    addOrder(fault, properties) {
      const index = orders + added++;
      const row = { ...order(index, fault, now()), ...properties };
      const number = textOf(row["number"]);
      salesOrders.put(number, row, now());
      return number;
    },
    repair(number) {
      const entry = salesOrders.find(number);
      if (entry === undefined) return false;
      const placedAt = Date.parse(textOf(salesOrders.show(entry)["orderDate"]));
      salesOrders.put(number, order(indexOf(number), null, placedAt), now());
      return true;
    },
    endOrder(number, invoiced) {
      const entry = salesOrders.find(number);
      if (entry === undefined) return false;
      if (invoiced) addInvoice(salesInvoices, salesOrders.show(entry), now());
      return salesOrders.remove(number);
    },
  };
}

const empty = {
  count: 0,
  keyAt: String,
  modifiedAt: () => lastChange,
  make: (): Row => ({}),
};

function listOf(rows: readonly Row[]): Table {
  return makeTable({
    count: rows.length,
    keyAt: (index) => textOf(rows[index]?.["code"]) || String(index),
    modifiedAt: () => lastChange,
    make: (index) => ({ ...rows[index] }),
  });
}

function companyRecord(seed: string): Row {
  return {
    id: idOf(seed, "company"),
    systemVersion: "27.0.0.0",
    timestamp: 1,
    name: "Vinhandelen",
    displayName: "Vinhandelen A/S (emulated)",
    businessProfileId: "",
    systemCreatedAt: "2020-01-01T00:00:00Z",
    systemCreatedBy: noId,
    systemModifiedAt: "2020-01-01T00:00:00Z",
    systemModifiedBy: noId,
  };
}

function companyInformation(seed: string): Row {
  return {
    id: idOf(seed, "companyInformation"),
    displayName: "Vinhandelen A/S (emulated)",
    addressLine1: "Havnegade 1",
    addressLine2: "",
    city: "København K",
    state: "",
    country: "DK",
    postalCode: "1058",
    phoneNumber: "",
    faxNumber: "",
    email: "",
    website: "",
    taxRegistrationNumber: "DK00000000",
    currencyCode: localCurrency,
    currentFiscalYearStartDate: "2025-01-01",
    industry: "",
    experience: "",
  };
}

/** Adds the invoice of an order: the properties that both have, and the numbers and dates of the invoice. */
function addInvoice(invoices: Table, order: Row, at: number): void {
  const number = `PS-INV${103_001 + invoices.entries().length}`;
  const shared = Object.fromEntries(
    Object.entries(order).filter(
      ([property]) =>
        !/^@|^(orderDate|partialShipping|requestedDeliveryDate|fullyShipped|salesOrderLines|lastModifiedDateTime)$/.test(
          property,
        ),
    ),
  );
  const day = new Date(at).toISOString().slice(0, 10);
  invoices.put(
    number,
    {
      ...shared,
      id: idOf("invoice", number),
      number,
      invoiceDate: day,
      dueDate: day,
      promisedPayDate: "0001-01-01",
      customerPurchaseOrderReference: "",
      orderId: order["id"] ?? noId,
      orderNumber: order["number"] ?? "",
      disputeStatusId: noId,
      disputeStatus: "",
      remainingAmount: 0,
      status: "Paid",
    },
    at,
  );
}
