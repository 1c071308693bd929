import type { Circuit } from "../health/externalSystems.ts";

/** Options of each call. */
export interface ErpCallOptions {
  /** Aborts the call, its delays and its retries; the call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Sent to the ERP, so that its telemetry can be matched with this service's log. */
  correlationId?: string | undefined;
}

/**
 * The ERP operations that the service uses; calls may run concurrently. After retries, a call throws
 * `ErpUnavailableError` when the ERP may respond later, `ErpAuthError` when it rejects the credentials, and
 * `ErpAnswerError` when its response is unusable.
 */
export interface ErpClient {
  /**
   * Returns a page of the orders changed since a cursor, oldest change first; null starts at the first order.
   *
   * Repeat with the page's `cursor` until `done`; the last cursor starts the next run. Store the cursor in the
   * transaction that stores the page's orders: each process can continue from it whenever it starts. No change is lost while
   * orders change; an order may appear more than once, even with the same revision, mostly at the start of a run.
   * @throws ErpCursorError when the cursor is invalid
   */
  changedOrders(cursor: string | null, options?: ErpCallOptions): Promise<ErpPage<ErpOrder>>;
  /**
   * Returns the current orders with these numbers, in any order. Accepts any count of numbers; requests are batched.
   */
  ordersByNumbers(numbers: readonly string[], options?: ErpCallOptions): Promise<ErpOrderLookup>;
  /** Like `changedOrders`, for customers. Cursors of the two are not interchangeable. */
  changedCustomers(cursor: string | null, options?: ErpCallOptions): Promise<ErpPage<ErpCustomer>>;
  /** Returns the current customers with these numbers, in any order. Accepts any count of numbers. */
  customersByNumbers(
    numbers: readonly string[],
    options?: ErpCallOptions,
  ): Promise<ErpLookup<ErpCustomer>>;
  /** Returns the current items with these numbers, in any order. Accepts any count of numbers. */
  itemsByNumbers(numbers: readonly string[], options?: ErpCallOptions): Promise<ErpLookup<ErpItem>>;
  /** Checks address, credentials and company with one minimal request, bypassing the circuit breaker. */
  check(options?: ErpCallOptions): Promise<ErpCheck>;
  /** The state of the circuit breaker. */
  circuit(): Circuit;
}

export interface ErpPage<Entity> {
  records: Entity[];
  /** Records of the page that could not be parsed. Continuing is safe: a record appears again when it changes. */
  unreadable: UnreadableErpRecord[];
  /** The position after this page: opaque, at most 2,000 characters. */
  cursor: string;
  /** Whether this was the last page of the run. */
  done: boolean;
}

export interface ErpLookup<Entity> {
  records: Entity[];
  unreadable: UnreadableErpRecord[];
  /** Requested numbers that the ERP does not have. */
  missing: string[];
}

export interface ErpOrderLookup extends ErpLookup<ErpOrder> {
  /** The numbers in `missing` whose orders were invoiced. The others were deleted or never existed. */
  invoiced: string[];
}

/** A record that does not match the ERP's documented format. */
export interface UnreadableErpRecord {
  /** The number of the order, customer or item, if legible. */
  number: string | null;
  /** The ERP's id, if legible. */
  id: string | null;
  /** The ERP's version tag of the record. */
  revision: string | null;
  /** The invalid property, such as `salesOrderLines[2].quantity`. */
  path: string;
  /** The error, for staff; never the value. */
  message: string;
}

/** A decimal in plain notation, such as `-12.50`, never converted to a float. */
export type ErpDecimal = string;

/** The status of an order. Fully invoiced and deleted orders are no longer among the ERP's orders. */
export type ErpOrderStatus =
  "DRAFT" | "IN_REVIEW" | "OPEN" | "PARTLY_SHIPPED" | "SHIPPED" | "INVOICED";

/**
 * An order. Strings are trimmed, and blank ones are null. Codes are the ERP's own, for mapping rules; an id that the
 * ERP does not resolve replaces the code.
 */
export interface ErpOrder {
  id: string;
  number: string;
  /** Identifies this version: equal exactly when all fields are equal. */
  revision: string;
  /** The ERP's time of the last change, ISO 8601 with zone. */
  lastModified: string;
  status: ErpOrderStatus;
  customerNumber: string | null;
  customerName: string | null;
  /**
   * The customer's reference (the ERP's external document number). A replacement order has the `number` of the order
   * that it replaces here.
   */
  customerReference: string | null;
  salesperson: string | null;
  /** The order date, `YYYY-MM-DD`; the ERP stores no time. */
  orderDate: string | null;
  requestedDeliveryDate: string | null;
  /** The currency code; the company's currency when the order has none. */
  currencyCode: string | null;
  /** Whether unit prices include VAT. */
  pricesIncludeVat: boolean;
  /** The customer's payment method: the ERP's API does not expose the order's own. */
  paymentMethodCode: string | null;
  paymentTermsCode: string | null;
  shipmentMethodCode: string | null;
  /** The sum of all lines after all discounts, before VAT. */
  netAmount: ErpDecimal | null;
  /** The order-level discount. */
  discountAmount: ErpDecimal | null;
  vatAmount: ErpDecimal | null;
  totalAmount: ErpDecimal | null;
  email: string | null;
  phone: string | null;
  /** The buyer's address (sell-to). */
  address: ErpAddress;
  /** The invoice address (bill-to). */
  invoiceAddress: ErpAddress;
  /** The delivery address (ship-to). */
  deliveryAddress: ErpAddress;
  /** Sorted by `lineNumber`. */
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
  /** The ERP's country code, usually ISO 3166. */
  country: string | null;
}

export type ErpLineType =
  "COMMENT" | "ACCOUNT" | "ITEM" | "RESOURCE" | "FIXED_ASSET" | "CHARGE" | "OTHER";

export interface ErpOrderLine {
  id: string;
  lineNumber: number;
  type: ErpLineType;
  /** The number of the line's item, account, resource and so on. */
  objectNumber: string | null;
  /** `objectNumber` of an ITEM line; null for other lines. */
  itemNumber: string | null;
  /**
   * Determines the kind of line. For an ITEM line the item's category code, null without a known category; for other
   * lines the ERP's line type and number, such as `Account 6610`, `Charge FREIGHT` or `Comment`.
   */
  productGroup: string | null;
  description: string | null;
  unit: string | null;
  quantity: ErpDecimal | null;
  /** The price of one unit before discount. The ERP has no empty prices; a missing price is `0`. */
  unitPrice: ErpDecimal | null;
  discountPercent: ErpDecimal | null;
  /** The line's own discount as an amount. */
  discountAmount: ErpDecimal | null;
  /** The tax code (VAT product posting group or tax group). */
  vatCode: string | null;
  vatPercent: ErpDecimal | null;
  /** The amount after the line's discount, before VAT. */
  amount: ErpDecimal | null;
  shippedQuantity: ErpDecimal | null;
  invoicedQuantity: ErpDecimal | null;
  /** The shipping location. The ERP stores it per line, not per order. */
  locationCode: string | null;
}

/** A customer; strings as in `ErpOrder`. */
export interface ErpCustomer {
  id: string;
  number: string;
  revision: string;
  lastModified: string;
  name: string | null;
  email: string | null;
  phone: string | null;
  website: string | null;
  /** The address without name and contact. */
  address: ErpAddress;
  currencyCode: string | null;
  vatNumber: string | null;
  salesperson: string | null;
  paymentMethodCode: string | null;
  paymentTermsCode: string | null;
  shipmentMethodCode: string | null;
  /** Null means no limit. */
  creditLimit: ErpDecimal | null;
  balanceDue: ErpDecimal | null;
  /** Which documents the ERP refuses to post for the customer. */
  blocked: "NO" | "SHIP" | "INVOICE" | "ALL";
}

/** An item; strings as in `ErpOrder`. */
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
  /** The response time in milliseconds. */
  durationMs: number;
}

/** The ERP is unreachable or temporarily refuses requests. Staff may read the message; it contains no secret. */
export class ErpUnavailableError extends Error {
  override name = "ErpUnavailableError";
  /** The delay requested by the ERP or the circuit breaker, in milliseconds; null when there is none. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: ErrorOptions & { retryAfterMs?: number | null } = {}) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/** The ERP rejected the credentials, or they lack a permission. Staff must correct them. */
export class ErpAuthError extends Error {
  override name = "ErpAuthError";
}

/** The ERP's response is unusable, or it rejected the request as invalid. A retry helps only after a fix. */
export class ErpAnswerError extends Error {
  override name = "ErpAnswerError";
}

/** The stored cursor is invalid. Restarting with null is safe, but takes longer. */
export class ErpCursorError extends Error {
  override name = "ErpCursorError";
}
