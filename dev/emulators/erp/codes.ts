import { idOf } from "./random.ts";
import type { Row } from "./table.ts";

interface Code {
  code: string;
  displayName: string;
}

// The last code of each list has no mapping. Only orders with that fault use it.
export const paymentMethods = [
  { code: "BANK", displayName: "Bank transfer" },
  { code: "CARD", displayName: "Payment card" },
  { code: "INVOICE", displayName: "Invoice" },
  { code: "MOBILEPAY", displayName: "MobilePay" },
  { code: "GIFTCERT", displayName: "Gift certificate" },
] as const satisfies Code[];
export const shipmentMethods = [
  { code: "GLS", displayName: "GLS parcel" },
  { code: "POSTNORD", displayName: "PostNord" },
  { code: "PALLET", displayName: "Pallet freight" },
  { code: "PICKUP", displayName: "Collected at the shop" },
  { code: "BIKE", displayName: "Cargo bike" },
] as const satisfies Code[];
export const locations = [
  { code: "MAIN", displayName: "Main warehouse" },
  { code: "BOND", displayName: "Bonded warehouse" },
  { code: "SHOP", displayName: "Shop" },
  { code: "POPUP", displayName: "Christmas market" },
] as const satisfies Code[];
export const itemCategories = [
  { code: "RED", displayName: "Red wine" },
  { code: "WHITE", displayName: "White wine" },
  { code: "ROSE", displayName: "Rosé" },
  { code: "SPARKLING", displayName: "Sparkling wine" },
  { code: "FORTIFIED", displayName: "Fortified wine" },
  { code: "SPIRITS", displayName: "Spirits" },
  { code: "GLASSES", displayName: "Glasses" },
  { code: "NOLO", displayName: "Low and no alcohol" },
] as const satisfies Code[];
export const paymentTerms = [
  { code: "COD", displayName: "Cash on delivery", dueDateCalculation: "0D" },
  { code: "8 DAYS", displayName: "Net 8 days", dueDateCalculation: "8D" },
  { code: "14 DAYS", displayName: "Net 14 days", dueDateCalculation: "14D" },
  { code: "CM", displayName: "Current month", dueDateCalculation: "CM" },
] as const;

/** Tax codes, with the percentage of each. */
export const taxes = { MOMS25: 25, EU0: 0, EXPORT0: 0, MOMS12: 12 } as const;

export const localCurrency = "DKK";

/** The id of a record of one of the code lists. */
export function codeId(set: string, code: string): string {
  return idOf("code", set, code);
}

const addresses = {
  contact: "",
  addressLine1: "Havnegade 1",
  addressLine2: "",
  city: "København K",
  state: "",
  country: "DK",
  postalCode: "1058",
  phoneNumber: "+45 00 00 00 00",
  email: "",
  website: "",
};

/** The lists of codes as the API shows them, by entity set. */
export const codeSets: Readonly<Record<string, readonly Row[]>> = {
  paymentMethods: withIds("paymentMethods", paymentMethods),
  shipmentMethods: withIds("shipmentMethods", shipmentMethods),
  itemCategories: withIds("itemCategories", itemCategories),
  locations: withIds(
    "locations",
    locations.map((location) => ({ ...location, ...addresses })),
  ),
  paymentTerms: withIds(
    "paymentTerms",
    paymentTerms.map((terms) => ({
      ...terms,
      discountDateCalculation: "",
      discountPercent: 0,
      calculateDiscountOnCreditMemos: false,
    })),
  ),
};

function withIds(set: string, rows: readonly (Code & Row)[]): Row[] {
  return rows.map((row) => ({ id: codeId(set, row.code), ...row }));
}
