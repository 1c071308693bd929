import type { ErpAddress, ErpLineType, ErpOrder, ErpOrderLine, ErpOrderStatus } from "../erp.ts";
import type { LineRecord, OrderRecord } from "./orderRecord.ts";
import { withRevision } from "./withRevision.ts";

/** Resolves an order's ids and numbers to codes; returns the id itself when the ERP does not resolve it. */
export interface OrderCodes {
  paymentMethodOf(customerNumber: string | null): string | null;
  paymentTerms(id: string | null): string | null;
  shipmentMethod(id: string | null): string | null;
  location(id: string | null): string | null;
  categoryOf(itemNumber: string | null): string | null;
  localCurrency: string | null;
}

/** Converts the ERP's order. */
export function toOrder(record: OrderRecord, codes: OrderCodes): ErpOrder {
  return withRevision({
    id: record.id,
    number: record.number,
    lastModified: record.lastModifiedDateTime,
    status: statusOf(record),
    customerNumber: record.customerNumber,
    customerName: record.customerName,
    customerReference: record.externalDocumentNumber,
    salesperson: record.salesperson,
    orderDate: record.orderDate,
    requestedDeliveryDate: record.requestedDeliveryDate,
    currencyCode: record.currencyCode ?? codes.localCurrency,
    pricesIncludeVat: record.pricesIncludeTax,
    paymentMethodCode: codes.paymentMethodOf(record.customerNumber),
    paymentTermsCode: codes.paymentTerms(record.paymentTermsId),
    shipmentMethodCode: codes.shipmentMethod(record.shipmentMethodId),
    netAmount: record.totalAmountExcludingTax,
    discountAmount: record.discountAmount,
    vatAmount: record.totalTaxAmount,
    totalAmount: record.totalAmountIncludingTax,
    email: record.email,
    phone: record.phoneNumber,
    address: sellTo(record),
    invoiceAddress: billTo(record),
    deliveryAddress: shipTo(record),
    lines: record.salesOrderLines
      .map((line) => toLine(line, codes))
      .sort((a, b) => a.lineNumber - b.lineNumber),
  });
}

/** The API has three states; the lines tell how much is shipped and invoiced. */
function statusOf({ status, fullyShipped, salesOrderLines }: OrderRecord): ErpOrderStatus {
  const goods = salesOrderLines.filter(({ quantity }) => Number(quantity ?? 0) > 0);
  const reached = (line: LineRecord, count: string | null) =>
    Number(count ?? 0) >= Number(line.quantity ?? 0);
  if (goods.length > 0 && goods.every((line) => reached(line, line.invoicedQuantity)))
    return "INVOICED";
  const anyShipped = goods.some(({ shippedQuantity }) => Number(shippedQuantity ?? 0) > 0);
  // The ERP reports an order without lines as fully shipped.
  if (anyShipped)
    return fullyShipped || goods.every((line) => reached(line, line.shippedQuantity))
      ? "SHIPPED"
      : "PARTLY_SHIPPED";
  if (status === "Draft") return "DRAFT";
  return status === "In Review" ? "IN_REVIEW" : "OPEN";
}

// The values of NAV.invoiceLineAggLineType; the documentation writes "Charge" where some releases write "Charge
// (Item)".
const lineTypes: Readonly<Record<string, ErpLineType>> = {
  Comment: "COMMENT",
  Account: "ACCOUNT",
  Item: "ITEM",
  Resource: "RESOURCE",
  "Fixed Asset": "FIXED_ASSET",
  Charge: "CHARGE",
  "Charge (Item)": "CHARGE",
};

function toLine(record: LineRecord, codes: OrderCodes): ErpOrderLine {
  const type = lineTypes[record.lineType] ?? "OTHER";
  const itemNumber = type === "ITEM" ? record.lineObjectNumber : null;
  return {
    id: record.id,
    lineNumber: record.sequence,
    type,
    objectNumber: record.lineObjectNumber,
    itemNumber,
    productGroup: type === "ITEM" ? codes.categoryOf(itemNumber) : groupOf(record, type),
    description: joined(record.description, record.description2),
    unit: record.unitOfMeasureCode,
    quantity: record.quantity,
    unitPrice: record.unitPrice,
    discountPercent: record.discountPercent,
    discountAmount: record.discountAmount,
    vatCode: record.taxCode,
    vatPercent: record.taxPercent,
    amount: record.amountExcludingTax,
    shippedQuantity: record.shippedQuantity,
    invoicedQuantity: record.invoicedQuantity,
    locationCode: codes.location(record.locationId),
  };
}

function groupOf({ lineType, lineObjectNumber }: LineRecord, type: ErpLineType): string {
  const word = type === "CHARGE" ? "Charge" : lineType || "Comment";
  return lineObjectNumber === null ? word : `${word} ${lineObjectNumber}`;
}

function joined(first: string | null, second: string | null): string | null {
  return [first, second].filter((part) => part !== null).join(" ") || null;
}

function sellTo(record: OrderRecord): ErpAddress {
  return {
    name: record.customerName,
    contact: null,
    line1: record.sellToAddressLine1,
    line2: record.sellToAddressLine2,
    postalCode: record.sellToPostCode,
    city: record.sellToCity,
    region: record.sellToState,
    country: record.sellToCountry,
  };
}

function billTo(record: OrderRecord): ErpAddress {
  return {
    name: record.billToName,
    contact: null,
    line1: record.billToAddressLine1,
    line2: record.billToAddressLine2,
    postalCode: record.billToPostCode,
    city: record.billToCity,
    region: record.billToState,
    country: record.billToCountry,
  };
}

function shipTo(record: OrderRecord): ErpAddress {
  return {
    name: record.shipToName,
    contact: record.shipToContact,
    line1: record.shipToAddressLine1,
    line2: record.shipToAddressLine2,
    postalCode: record.shipToPostCode,
    city: record.shipToCity,
    region: record.shipToState,
    country: record.shipToCountry,
  };
}
