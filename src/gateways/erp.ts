import type { Circuit } from "../health/externalSystems.ts";

/** What every call may be given. */
export interface ErpCallOptions {
  /** Stops the call, its waits and its retries; what it throws then is the abort itself. */
  signal?: AbortSignal | undefined;
  /** Sent along, so that the ERP's own records can be held beside ours. */
  correlationId?: string | undefined;
}

/**
 * The ERP, by what the service needs of it. Calls may run at the same time. Each of them throws, and promises no more:
 * `ErpUnavailableError` when the ERP may answer later, `ErpAuthError` when it does not let us in, `ErpAnswerError` when what
 * it answers cannot be used. Short troubles are retried before that.
 */
export interface ErpClient {
  /**
   * One page of the orders that changed since a cursor, oldest change first; null begins at the ERP's first order.
   *
   * Ask again with the page's `cursor` until `done`; the cursor of the last page begins the next run. A cursor may be stored
   * before the following page is asked for, and used any time later by any process: whatever was not in a page before it comes
   * after it. So store it in the transaction that stores the page's orders. Nothing is lost when orders change meanwhile; an
   * order may come more than once, also with the same revision, above all at the beginning of a run.
   * @throws ErpCursorError when the cursor is none of ours
   */
  changedOrders(cursor: string | null, options?: ErpCallOptions): Promise<ErpPage<ErpOrder>>;
  /** The orders of these numbers as they are now, in any order; any count of numbers, asked for in batches. */
  ordersByNumbers(numbers: readonly string[], options?: ErpCallOptions): Promise<ErpFoundOrders>;
  /** As `changedOrders`, for customers. Cursors of the two are not interchangeable. */
  changedCustomers(cursor: string | null, options?: ErpCallOptions): Promise<ErpPage<ErpCustomer>>;
  /** The customers of these numbers as they are now, in any order; any count of numbers, asked for in batches. */
  customersByNumbers(
    numbers: readonly string[],
    options?: ErpCallOptions,
  ): Promise<ErpFound<ErpCustomer>>;
  /** The items of these numbers as they are now, in any order; any count of numbers, asked for in batches. */
  itemsByNumbers(numbers: readonly string[], options?: ErpCallOptions): Promise<ErpFound<ErpItem>>;
  /** Asks for as little as shows that address, credentials and company are right. One attempt, past the circuit breaker. */
  check(options?: ErpCallOptions): Promise<ErpCheck>;
  /** Whether calls are let through at present. */
  circuit(): Circuit;
}

export interface ErpPage<Entity> {
  records: Entity[];
  /** What stood in the page beside them and could not be read. Going on after it is safe: it comes again once it changes. */
  unreadable: ErpUnreadable[];
  /** Goes on after this page; opaque, 2,000 characters at most. */
  cursor: string;
  /** Whether this run is over. */
  done: boolean;
}

export interface ErpFound<Entity> {
  records: Entity[];
  unreadable: ErpUnreadable[];
  /** Those numbers asked for that the ERP does not know. */
  missing: string[];
}

export interface ErpFoundOrders extends ErpFound<ErpOrder> {
  /** Those of `missing` that the ERP no longer has as orders because they were invoiced. Others were deleted, or never were. */
  invoiced: string[];
}

/** A record of which something has not the form that the ERP documents. */
export interface ErpUnreadable {
  /** The order's, customer's or item's number, as far as it is legible. */
  number: string | null;
  /** The ERP's id, as far as it is legible. */
  id: string | null;
  /** The ERP's own mark of the record's version. */
  revision: string | null;
  /** Where it went wrong, such as `salesOrderLines[2].quantity`. */
  path: string;
  /** What is wrong there, for staff; never the value itself. */
  message: string;
}

/** A decimal in plain notation, such as `-12.50`: no exponent, no float in between. */
export type ErpDecimal = string;

/** How far the ERP is with an order. An order that was invoiced whole or deleted is no longer among the ERP's orders. */
export type ErpOrderStatus =
  "DRAFT" | "IN_REVIEW" | "OPEN" | "PARTLY_SHIPPED" | "SHIPPED" | "INVOICED";

/**
 * An order. Texts are trimmed at their ends, blank ones are null. Codes are the ERP's own, for mapping rules; where the ERP
 * refers to something by an id that it does not resolve, the id stands in the code's place.
 */
export interface ErpOrder {
  id: string;
  number: string;
  /** Marks this version: the same for exactly as long as everything here is the same. */
  revision: string;
  /** When the ERP last changed it, ISO 8601 with zone. */
  lastModified: string;
  status: ErpOrderStatus;
  customerNumber: string | null;
  customerName: string | null;
  /**
   * The customer's own mark for the order (the ERP's external document number). An order that takes the place of another one
   * of the same customer bears that one's `number` here.
   */
  customerReference: string | null;
  salesperson: string | null;
  /** When it was placed, `YYYY-MM-DD`; the ERP keeps no time of day. */
  orderDate: string | null;
  requestedDeliveryDate: string | null;
  /** The currency's code; the company's own currency where the order names none. */
  currencyCode: string | null;
  /** Whether the lines' unit prices include VAT. */
  pricesIncludeVat: boolean;
  /** That of the order's customer: the ERP shows none of the order's own. */
  paymentMethodCode: string | null;
  paymentTermsCode: string | null;
  shipmentMethodCode: string | null;
  /** All lines after all discounts, before VAT. */
  netAmount: ErpDecimal | null;
  /** The discount on the order as a whole. */
  discountAmount: ErpDecimal | null;
  vatAmount: ErpDecimal | null;
  totalAmount: ErpDecimal | null;
  email: string | null;
  phone: string | null;
  /** The buyer's (sell-to). */
  address: ErpAddress;
  /** Where the invoice goes (bill-to). */
  invoiceAddress: ErpAddress;
  /** Where the goods go (ship-to). */
  deliveryAddress: ErpAddress;
  /** By `lineNumber`. */
  lines: ErpOrderLine[];
}

export interface ErpAddress {
  name: string | null;
  contact: string | null;
  line1: string | null;
  line2: string | null;
  postalCode: string | null;
  city: string | null;
  region: string | null;
  /** The ERP's country code, as a rule ISO 3166. */
  country: string | null;
}

export type ErpLineType =
  "COMMENT" | "ACCOUNT" | "ITEM" | "RESOURCE" | "FIXED_ASSET" | "CHARGE" | "OTHER";

export interface ErpOrderLine {
  id: string;
  lineNumber: number;
  type: ErpLineType;
  /** Number of the item, account, resource, ... that the line is about. */
  objectNumber: string | null;
  /** `objectNumber` of an ITEM line, null for others. */
  itemNumber: string | null;
  /**
   * What the line's kind follows from: the category's code of an ITEM line's item, null where the item has none or is not
   * known; of other lines the ERP's line type and number, such as `Account 6610`, `Charge FREIGHT` or `Comment`.
   */
  productGroup: string | null;
  description: string | null;
  unit: string | null;
  quantity: ErpDecimal | null;
  /** Of one unit, before discount. The ERP has no empty prices: `0` where nobody set one. */
  unitPrice: ErpDecimal | null;
  discountPercent: ErpDecimal | null;
  /** The line's own discount, as an amount. */
  discountAmount: ErpDecimal | null;
  /** The tax code (VAT product posting group or tax group). */
  vatCode: string | null;
  vatPercent: ErpDecimal | null;
  /** After the line's discount, before VAT. */
  amount: ErpDecimal | null;
  shippedQuantity: ErpDecimal | null;
  invoicedQuantity: ErpDecimal | null;
  /** Where it is sent from. The ERP says so line by line, not for the order. */
  locationCode: string | null;
}

/** A customer; texts as in `ErpOrder`. */
export interface ErpCustomer {
  id: string;
  number: string;
  revision: string;
  lastModified: string;
  name: string | null;
  email: string | null;
  phone: string | null;
  website: string | null;
  /** Without name and contact. */
  address: ErpAddress;
  currencyCode: string | null;
  vatNumber: string | null;
  salesperson: string | null;
  paymentMethodCode: string | null;
  paymentTermsCode: string | null;
  shipmentMethodCode: string | null;
  /** Null for no limit. */
  creditLimit: ErpDecimal | null;
  balanceDue: ErpDecimal | null;
  /** What the ERP no longer does for the customer. */
  blocked: "NO" | "SHIP" | "INVOICE" | "ALL";
}

/** An item; texts as in `ErpOrder`. */
export interface ErpItem {
  id: string;
  number: string;
  revision: string;
  lastModified: string;
  name: string | null;
  type: "INVENTORY" | "SERVICE" | "NON_INVENTORY" | "OTHER";
  categoryCode: string | null;
  gtin: string | null;
  unit: string | null;
  unitPrice: ErpDecimal | null;
  priceIncludesVat: boolean;
  inventory: ErpDecimal | null;
  vatCode: string | null;
  isBlocked: boolean;
}

export interface ErpCheck {
  /** The company's name in the ERP. */
  company: string;
  /** How long the answer took, in milliseconds. */
  durationMs: number;
}

/** The ERP did not answer, or not now. The message is for staff to read and holds no secret. */
export class ErpUnavailableError extends Error {
  override name = "ErpUnavailableError";
  /** How long the ERP, or our circuit breaker, asks to wait, in milliseconds; null when nobody said. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | null } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The ERP does not take our credentials, or they do not permit what was asked. For staff to put right. */
export class ErpAuthError extends Error {
  override name = "ErpAuthError";
}

/** The ERP answered what cannot be used, or refused the question as wrong. Asking again later may help after a fix only. */
export class ErpAnswerError extends Error {
  override name = "ErpAnswerError";
}

/** The stored cursor cannot be read. Beginning anew with null is safe, only longer. */
export class ErpCursorError extends Error {
  override name = "ErpCursorError";
}
