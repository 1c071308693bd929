import type { MasterData } from "./masterData.ts";
import { codeId, locations, shipmentMethods, taxes } from "./codes.ts";
import type { Random } from "./random.ts";
import { idOf, noId, randomOf } from "./random.ts";
import type { Row } from "./table.ts";

/** Faults of an order, named by the service's issue codes. `superseding` is an order that replaces another. */
export const orderFaults = [
  "product.missing",
  "customer.missing",
  "price.missing",
  "address.incomplete",
  "quantity.invalid",
  "line_kind.unmapped",
  "payment_method.unmapped",
  "shipping_method.unmapped",
  "vat_code.unmapped",
  "currency.unmapped",
  "warehouse.unmapped",
  "superseding",
] as const;
export type OrderFault = (typeof orderFaults)[number];

export interface OrderSpec {
  index: number;
  number: string;
  /** When it was placed, in milliseconds since 1970. */
  placedAt: number;
  fault: OrderFault | null;
  /** For `superseding`: the replaced order. */
  replaces?: { number: string; customer: number };
}

const freight = { lineType: "Charge", lineObjectNumber: "FREIGHT", description: "Fragt" };
const deposit = { lineType: "Account", lineObjectNumber: "2450", description: "Pant" };
const dayMs = 86_400_000;

/** Generates an order with its lines, as the API shows it. The same spec gives the same order. */
export function makeOrder(masterData: MasterData, seed: string, spec: OrderSpec): Row {
  const { index, number, placedAt, fault } = spec;
  const random = randomOf(seed, "order", index);
  const customerIndex = customerOf(masterData, random, spec);
  const customer = masterData.customer(customerIndex);
  const abroad = customer["country"] !== "DK";
  const lines = makeLines(masterData, random, spec, abroad ? "EU0" : "MOMS25");
  const net = sum(lines, "amountExcludingTax");
  const tax = sum(lines, "totalTaxAmount");
  const id = idOf(seed, "order", number);
  const address = addressOf(customer, fault);
  const shipment =
    fault === "shipping_method.unmapped" ? "BIKE" : mappedCode(random, shipmentMethods);
  const shipped = random.once(4);
  for (const line of lines) {
    line["documentId"] = id;
    line["shippedQuantity"] = shipped ? (line["quantity"] ?? 0) : 0;
  }
  const missing = fault === "customer.missing";
  const customerNumber = missing ? `GONE${index}` : (customer["number"] ?? "");
  const day = new Date(placedAt).toISOString().slice(0, 10);
  return {
    id,
    number,
    externalDocumentNumber: spec.replaces?.number ?? (random.once(3) ? `PO-${index}` : ""),
    orderDate: day,
    postingDate: day,
    customerId: missing ? noId : (customer["id"] ?? noId),
    customerNumber,
    customerName: customer["displayName"] ?? "",
    billToName: customer["displayName"] ?? "",
    billToCustomerId: missing ? noId : (customer["id"] ?? noId),
    billToCustomerNumber: customerNumber,
    shipToName: customer["displayName"] ?? "",
    shipToContact: "",
    ...named("sellTo", addressOf(customer, null)),
    ...named("billTo", addressOf(customer, null)),
    ...named("shipTo", address),
    shortcutDimension1Code: "",
    shortcutDimension2Code: "",
    currencyId: noId,
    currencyCode: fault === "currency.unmapped" ? "EURO" : (customer["currencyCode"] ?? ""),
    pricesIncludeTax: false,
    paymentTermsId: customer["paymentTermsId"] ?? noId,
    shipmentMethodId: codeId("shipmentMethods", shipment),
    salesperson: random.pick(["MH", "AK", "JR"]),
    partialShipping: false,
    requestedDeliveryDate: random.once(2)
      ? new Date(placedAt + 3 * dayMs).toISOString().slice(0, 10)
      : "0001-01-01",
    discountAmount: 0,
    discountAppliedBeforeTax: true,
    totalAmountExcludingTax: net,
    totalTaxAmount: tax,
    totalAmountIncludingTax: cents(net + tax),
    fullyShipped: shipped,
    status: random.pick(["Open", "Open", "Open", "Draft", "In_x0020_Review"]),
    phoneNumber: customer["phoneNumber"] ?? "",
    email: customer["email"] ?? "",
    salesOrderLines: lines,
  };
}

function customerOf(masterData: MasterData, random: Random, spec: OrderSpec): number {
  if (spec.replaces !== undefined) return spec.replaces.customer;
  return spec.fault === "payment_method.unmapped" ? 0 : masterData.someCustomer(random);
}

function makeLines(
  masterData: MasterData,
  random: Random,
  { index, number, fault }: OrderSpec,
  usualTax: keyof typeof taxes,
): Row[] {
  const lines: Row[] = [];
  const location = fault === "warehouse.unmapped" ? "POPUP" : mappedCode(random, locations);
  const taxCode = fault === "vat_code.unmapped" ? "MOMS12" : usualTax;
  const add = (line: Row & { quantity: number; unitPrice: number }) => {
    const sequence = (lines.length + 1) * 10_000;
    lines.push(completeLine(number, sequence, taxCode, location, line));
  };
  const count = 1 + random.below(5);
  for (let place = 0; place < count; place++) {
    const faulty = place === 0 ? fault : null;
    const item = masterData.item(faulty === "line_kind.unmapped" ? 0 : masterData.someItem(random));
    const missing = faulty === "product.missing";
    add({
      itemId: missing ? noId : (item["id"] ?? noId),
      lineType: "Item",
      lineObjectNumber: missing ? `W-GONE${index}` : (item["number"] ?? ""),
      description: item["displayName"] ?? "",
      quantity: faulty === "quantity.invalid" ? 0 : random.pick([1, 2, 3, 6, 6, 12, 12, 24]),
      unitPrice: faulty === "price.missing" ? 0 : Number(item["unitPrice"] ?? 0),
      discountPercent: random.pick([0, 0, 0, 5, 10]),
    });
  }
  if (random.once(2)) add({ ...freight, quantity: 1, unitPrice: 79 });
  if (random.once(8)) add({ ...deposit, quantity: count, unitPrice: 3 });
  if (random.once(6))
    add({
      lineType: "Comment",
      lineObjectNumber: "",
      description: "Ring før levering",
      quantity: 0,
      unitPrice: 0,
    });
  return lines;
}

function completeLine(
  number: string,
  sequence: number,
  taxCode: keyof typeof taxes,
  location: string,
  line: Row & { quantity: number; unitPrice: number },
): Row {
  const comment = line["lineType"] === "Comment";
  const goods = line["lineType"] === "Item";
  const percent = Number(line["discountPercent"] ?? 0);
  const gross = line.quantity * line.unitPrice;
  const discount = cents((gross * percent) / 100);
  const amount = cents(gross - discount);
  const tax = cents((amount * taxes[taxCode]) / 100);
  return {
    id: idOf("line", number, sequence),
    documentId: noId,
    sequence,
    itemId: noId,
    accountId: noId,
    description2: "",
    unitOfMeasureId: goods ? codeId("unitsOfMeasure", "STK") : noId,
    unitOfMeasureCode: goods ? "STK" : "",
    discountPercent: percent,
    ...line,
    discountAmount: discount,
    discountAppliedBeforeTax: false,
    amountExcludingTax: amount,
    taxCode: comment ? "" : taxCode,
    taxPercent: comment ? 0 : taxes[taxCode],
    totalTaxAmount: tax,
    amountIncludingTax: cents(amount + tax),
    invoiceDiscountAllocation: 0,
    netAmount: amount,
    netTaxAmount: tax,
    netAmountIncludingTax: cents(amount + tax),
    shipmentDate: "0001-01-01",
    shippedQuantity: 0,
    invoicedQuantity: 0,
    invoiceQuantity: line.quantity,
    shipQuantity: line.quantity,
    itemVariantId: noId,
    locationId: goods ? codeId("locations", location) : noId,
  };
}

/** A random code of a list, except the last one, which has no mapping. */
function mappedCode(random: Random, codes: readonly { code: string }[]): string {
  return codes[random.below(codes.length - 1)]?.code ?? "";
}

const addressFields = ["AddressLine1", "AddressLine2", "City", "Country", "State", "PostCode"];

function addressOf(customer: Row, fault: OrderFault | null): Row {
  const incomplete = fault === "address.incomplete";
  return {
    AddressLine1: customer["addressLine1"] ?? "",
    AddressLine2: customer["addressLine2"] ?? "",
    City: incomplete ? "" : (customer["city"] ?? ""),
    Country: customer["country"] ?? "",
    State: customer["state"] ?? "",
    PostCode: incomplete ? "" : (customer["postalCode"] ?? ""),
  };
}

function named(prefix: string, address: Row): Row {
  return Object.fromEntries(addressFields.map((field) => [prefix + field, address[field] ?? ""]));
}

function sum(lines: readonly Row[], property: string): number {
  return cents(lines.reduce((total, line) => total + Number(line[property] ?? 0), 0));
}

function cents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
