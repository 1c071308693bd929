import { z } from "zod";
import type { ErpCustomer } from "../erp.ts";
import { decimal, guid, instant, name, option, reference, text } from "./fields.ts";
import { withRevision } from "./withRevision.ts";

// The properties of resources/dynamics_customer.md that the service uses.

export const customerSchema = z.object({
  id: guid,
  number: name,
  displayName: text,
  addressLine1: text,
  addressLine2: text,
  city: text,
  state: text,
  country: text,
  postalCode: text,
  phoneNumber: text,
  email: text,
  website: text,
  salespersonCode: text,
  balanceDue: decimal,
  creditLimit: decimal,
  taxRegistrationNumber: text,
  currencyCode: text,
  paymentTermsId: reference,
  shipmentMethodId: reference,
  paymentMethodId: reference,
  blocked: option.pipe(
    z.enum(["", "Ship", "Invoice", "All"], { error: "must be blank, Ship, Invoice or All" }),
  ),
  lastModifiedDateTime: instant,
});

export type CustomerRecord = z.output<typeof customerSchema>;
export const customerSelect = Object.keys(customerSchema.shape);

/** Resolves a customer's ids to codes; returns the id itself when the ERP does not resolve it. */
export interface CustomerCodes {
  paymentMethod(id: string | null): string | null;
  paymentTerms(id: string | null): string | null;
  shipmentMethod(id: string | null): string | null;
  localCurrency: string | null;
}

const blocked = { "": "NO", Ship: "SHIP", Invoice: "INVOICE", All: "ALL" } as const;

/** Converts the ERP's customer. */
export function toCustomer(record: CustomerRecord, codes: CustomerCodes): ErpCustomer {
  return withRevision({
    id: record.id,
    number: record.number,
    lastModified: record.lastModifiedDateTime,
    name: record.displayName,
    email: record.email,
    phone: record.phoneNumber,
    website: record.website,
    address: {
      name: null,
      contact: null,
      line1: record.addressLine1,
      line2: record.addressLine2,
      postalCode: record.postalCode,
      city: record.city,
      region: record.state,
      country: record.country,
    },
    currencyCode: record.currencyCode ?? codes.localCurrency,
    vatNumber: record.taxRegistrationNumber,
    salesperson: record.salespersonCode,
    paymentMethodCode: codes.paymentMethod(record.paymentMethodId),
    paymentTermsCode: codes.paymentTerms(record.paymentTermsId),
    shipmentMethodCode: codes.shipmentMethod(record.shipmentMethodId),
    creditLimit: Number(record.creditLimit) === 0 ? null : record.creditLimit,
    balanceDue: record.balanceDue,
    blocked: blocked[record.blocked],
  });
}
