import { z } from "zod";
import type { ErpItem } from "../erp.ts";
import { decimal, flag, guid, instant, name, option, text } from "./fields.ts";
import { withRevision } from "./withRevision.ts";

// The properties of resources/dynamics_item.md that the service uses.

export const itemSchema = z.object({
  id: guid,
  number: name,
  displayName: text,
  type: option,
  itemCategoryCode: text,
  blocked: flag,
  gtin: text,
  inventory: decimal,
  unitPrice: decimal,
  priceIncludesTax: flag,
  taxGroupCode: text,
  baseUnitOfMeasureCode: text,
  lastModifiedDateTime: instant,
});

export const itemSelect = Object.keys(itemSchema.shape);

const types: Readonly<Record<string, ErpItem["type"]>> = {
  Inventory: "INVENTORY",
  Service: "SERVICE",
  "Non-Inventory": "NON_INVENTORY",
};

/** Converts the ERP's item. */
export function toItem(record: z.output<typeof itemSchema>): ErpItem {
  return withRevision({
    id: record.id,
    number: record.number,
    lastModified: record.lastModifiedDateTime,
    name: record.displayName,
    type: types[record.type] ?? "OTHER",
    categoryCode: record.itemCategoryCode,
    gtin: record.gtin,
    unit: record.baseUnitOfMeasureCode,
    unitPrice: record.unitPrice,
    priceIncludesVat: record.priceIncludesTax,
    inventory: record.inventory,
    vatCode: record.taxGroupCode,
    isBlocked: record.blocked,
  });
}
