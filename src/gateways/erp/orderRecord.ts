import { z } from "zod";
import {
  day,
  decimal,
  flag,
  guid,
  instant,
  integer,
  name,
  option,
  reference,
  text,
} from "./fields.ts";

// The properties of resources/dynamics_salesorder.md and dynamics_salesorderline.md that the service uses.

const lineSchema = z.object({
  id: guid,
  sequence: integer,
  lineType: option,
  lineObjectNumber: text,
  description: text,
  description2: text,
  unitOfMeasureCode: text,
  quantity: decimal,
  unitPrice: decimal,
  discountAmount: decimal,
  discountPercent: decimal,
  amountExcludingTax: decimal,
  taxCode: text,
  taxPercent: decimal,
  shippedQuantity: decimal,
  invoicedQuantity: decimal,
  locationId: reference,
});

export const orderSchema = z.object({
  id: guid,
  number: name,
  externalDocumentNumber: text,
  orderDate: day,
  customerNumber: text,
  customerName: text,
  billToName: text,
  shipToName: text,
  shipToContact: text,
  sellToAddressLine1: text,
  sellToAddressLine2: text,
  sellToCity: text,
  sellToCountry: text,
  sellToState: text,
  sellToPostCode: text,
  billToAddressLine1: text,
  billToAddressLine2: text,
  billToCity: text,
  billToCountry: text,
  billToState: text,
  billToPostCode: text,
  shipToAddressLine1: text,
  shipToAddressLine2: text,
  shipToCity: text,
  shipToCountry: text,
  shipToState: text,
  shipToPostCode: text,
  currencyCode: text,
  pricesIncludeTax: flag,
  paymentTermsId: reference,
  shipmentMethodId: reference,
  salesperson: text,
  requestedDeliveryDate: day,
  discountAmount: decimal,
  totalAmountExcludingTax: decimal,
  totalTaxAmount: decimal,
  totalAmountIncludingTax: decimal,
  fullyShipped: flag,
  status: option.pipe(
    z.enum(["Draft", "In Review", "Open"], { error: "must be Draft, In Review or Open" }),
  ),
  lastModifiedDateTime: instant,
  phoneNumber: text,
  email: text,
  salesOrderLines: z
    .array(lineSchema, { error: "must be a list of lines" })
    .superRefine((lines, context) => {
      const seen = new Set<number>();
      for (const [index, { sequence }] of lines.entries()) {
        if (seen.has(sequence))
          context.addIssue({
            code: "custom",
            path: [index, "sequence"],
            message: "must be the line's own",
          });
        seen.add(sequence);
      }
    }),
});

export type OrderRecord = z.output<typeof orderSchema>;
export type LineRecord = OrderRecord["salesOrderLines"][number];

const properties = Object.keys(orderSchema.shape);
export const orderSelect = properties.filter((property) => property !== "salesOrderLines");
export const lineSelect = Object.keys(lineSchema.shape);
export const orderExpand = `salesOrderLines($select=${lineSelect.join(",")})`;
