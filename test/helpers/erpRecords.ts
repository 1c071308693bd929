import type pg from "pg";
import type { ErpCustomer, ErpOrder, ErpOrderLine } from "../../src/gateways/erp.ts";

const address = {
  name: "Vinbaren",
  contact: null,
  line1: "Havnegade 1",
  line2: null,
  postalCode: "1058",
  city: "København",
  region: null,
  country: "DK",
};

/** An order line as the ERP client returns it: six bottles of item `1000`. */
export function erpLine(lineNumber: number, changes: Partial<ErpOrderLine> = {}): ErpOrderLine {
  return {
    id: `line-${lineNumber}`,
    lineNumber,
    type: "ITEM",
    objectNumber: "1000",
    itemNumber: "1000",
    productGroup: "WINE",
    description: "Chinon",
    unit: "PCS",
    quantity: "6",
    unitPrice: "100",
    discountPercent: "0",
    discountAmount: "0",
    vatCode: "VAT25",
    vatPercent: "25",
    amount: "600",
    shippedQuantity: "0",
    invoicedQuantity: "0",
    locationCode: "MAIN",
    ...changes,
  };
}

/** An order as the ERP client returns it; valid with the rules of `resetRules`. */
export function erpOrder(number: string, changes: Partial<ErpOrder> = {}): ErpOrder {
  return {
    id: `id-${number}`,
    number,
    revision: "1",
    lastModified: "2026-03-01T10:00:00.000Z",
    status: "OPEN",
    customerNumber: "C1",
    customerName: "Vinbaren",
    customerReference: null,
    salesperson: "PS",
    orderDate: "2026-03-01",
    requestedDeliveryDate: "2026-03-05",
    currencyCode: "DKK",
    pricesIncludeVat: false,
    paymentMethodCode: "BANK",
    paymentTermsCode: "30D",
    shipmentMethodCode: "TRUCK",
    netAmount: "600",
    discountAmount: "0",
    vatAmount: "150",
    totalAmount: "750",
    email: "bar@example.com",
    phone: null,
    address,
    invoiceAddress: address,
    deliveryAddress: address,
    lines: [erpLine(10000)],
    ...changes,
  };
}

/** A customer as the ERP client returns it. */
export function erpCustomer(number: string, changes: Partial<ErpCustomer> = {}): ErpCustomer {
  return {
    id: `id-${number}`,
    number,
    revision: "1",
    lastModified: "2026-03-01T10:00:00.000Z",
    name: `Customer ${number}`,
    email: null,
    phone: null,
    website: null,
    address: { ...address, name: null },
    currencyCode: "DKK",
    vatNumber: null,
    salesperson: null,
    paymentMethodCode: "BANK",
    paymentTermsCode: "30D",
    shipmentMethodCode: "TRUCK",
    creditLimit: "0",
    balanceDue: "12.5",
    blocked: "NO",
    ...changes,
  };
}

/** Replaces all mapping rules with one for each code in `erpOrder`. */
export async function resetRules(client: Pick<pg.ClientBase, "query">): Promise<void> {
  const rules = [
    ["line_kind.unmapped", "WINE", "PRODUCT"],
    ["payment_method.unmapped", "BANK", "BANK_TRANSFER"],
    ["shipping_method.unmapped", "TRUCK", "FREIGHT"],
    ["vat_code.unmapped", "VAT25", "STANDARD"],
    ["currency.unmapped", "DKK", "DKK"],
    ["warehouse.unmapped", "MAIN", "MAIN"],
  ];
  await client.query("delete from erp_mapping_rules");
  await client.query(
    `insert into erp_mapping_targets (code, value, title)
     select r ->> 0, r ->> 2, r ->> 2 from jsonb_array_elements($1) r on conflict (code, value) do nothing`,
    [JSON.stringify(rules)],
  );
  await client.query(
    "insert into erp_mapping_rules (code, key, target) select r ->> 0, r ->> 1, r ->> 2 from jsonb_array_elements($1) r",
    [JSON.stringify(rules)],
  );
}

/** The content of one ERP response, as `import_from_erp` expects it. */
export interface ErpAnswer {
  orders?: ErpOrder[];
  customers?: ErpCustomer[];
  unreadableOrders?: object[];
  unreadableCustomers?: object[];
  unknownItems?: string[];
  invoiced?: string[];
  missing?: string[];
}

/** Imports one ERP response and returns the counts. */
export async function importErpResponse(
  client: Pick<pg.ClientBase, "query">,
  answer: ErpAnswer,
  timeZone = "UTC",
): Promise<Record<string, number>> {
  const { rows } = await client.query<{ counts: Record<string, number> }>(
    "select import_from_erp($1, $2) as counts",
    [JSON.stringify(answer), timeZone],
  );
  return rows[0]!.counts;
}
