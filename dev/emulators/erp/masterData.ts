import {
  codeId,
  itemCategories,
  localCurrency,
  paymentMethods,
  paymentTerms,
  shipmentMethods,
} from "./codes.ts";
import type { Random } from "./random.ts";
import { idOf, noId, randomOf } from "./random.ts";
import type { Row } from "./table.ts";

/** Customers and items, generated from a seed. The first of each is reserved for orders with a fault. */
export interface MasterData {
  customers: number;
  items: number;
  customer: (index: number) => Row;
  item: (index: number) => Row;
  customerNumber: (index: number) => string;
  itemNumber: (index: number) => string;
  /** The index of a random customer, or item, except the first. */
  someCustomer(random: Random): number;
  someItem(random: Random): number;
}

const firstNames = ["Anna", "Bo", "Clara", "David", "Emma", "Frida", "Gustav", "Ida"] as const;
const lastNames = ["Holm", "Lund", "Skov", "Dahl", "Berg", "Krogh", "Winther"] as const;
const trades = ["Vinbar", "Bistro", "Hotel", "Kro", "Restaurant", "Delikatesse"] as const;
const towns = [
  { city: "København K", postalCode: "1058", country: "DK" },
  { city: "Aarhus C", postalCode: "8000", country: "DK" },
  { city: "Odense C", postalCode: "5000", country: "DK" },
  { city: "Aalborg", postalCode: "9000", country: "DK" },
  { city: "Malmö", postalCode: "211 20", country: "SE" },
  { city: "Flensburg", postalCode: "24937", country: "DE" },
] as const;
const streets = ["Vestergade", "Nørregade", "Strandvejen", "Torvet", "Kirkestræde"] as const;
const currencies: Readonly<Record<string, string>> = { DK: localCurrency, SE: "SEK", DE: "EUR" };
const estates = ["Castello", "Domaine", "Bodega", "Weingut", "Quinta", "Château"] as const;
const places = ["della Rosa", "du Moulin", "San Pedro", "am Berg", "do Vale", "Bellevue"] as const;

export function makeMasterData(
  seed: string,
  { customers, items }: { customers: number; items: number },
): MasterData {
  // Some numbers have leading zeros, which the service must keep.
  const customerNumber = (index: number) =>
    index % 10 === 3 ? String(index).padStart(6, "0") : String(10_000 + index);
  const itemNumber = (index: number) =>
    index % 10 === 3 ? String(index).padStart(6, "0") : String(100_000 + index);
  return {
    customers,
    items,
    customerNumber,
    itemNumber,
    customer: (index) => makeCustomer(seed, index, customerNumber(index)),
    item: (index) => makeItem(seed, index, itemNumber(index)),
    someCustomer: (random) => Math.min(1 + random.below(customers - 1), customers - 1),
    someItem: (random) => Math.min(1 + random.below(items - 1), items - 1),
  };
}

function makeCustomer(seed: string, index: number, number: string): Row {
  const random = randomOf(seed, "customer", index);
  const first = random.pick(firstNames);
  const last = random.pick(lastNames);
  const company = random.once(3);
  const town = random.pick(towns);
  const term = random.pick(paymentTerms).code;
  const method =
    index === 0
      ? "GIFTCERT"
      : (paymentMethods[random.below(paymentMethods.length - 1)]?.code ?? "");
  return {
    id: idOf(seed, "customer", number),
    number,
    displayName: company ? `${random.pick(trades)} ${last} ${index}` : `${first} ${last} ${index}`,
    type: company ? "Company" : "Person",
    addressLine1: `${random.pick(streets)} ${1 + random.below(120)}`,
    addressLine2: random.once(5) ? `${1 + random.below(5)}. tv.` : "",
    city: town.city,
    state: "",
    country: town.country,
    postalCode: town.postalCode,
    phoneNumber: `+45 ${10_000_000 + random.below(89_999_999)}`,
    email: `customer${index}@example.com`,
    website: "",
    salespersonCode: random.pick(["MH", "AK", "JR"]),
    balanceDue: random.below(1_000_000) / 100,
    creditLimit: random.once(3) ? 50_000 : 0,
    taxLiable: company,
    taxAreaId: noId,
    taxAreaDisplayName: town.country === "DK" ? "Indenlandsk" : "EU",
    taxRegistrationNumber: company ? `${town.country}${10_000_000 + random.below(89_999_999)}` : "",
    currencyId: noId,
    currencyCode: currencies[town.country] ?? "",
    paymentTermsId: codeId("paymentTerms", term),
    shipmentMethodId: codeId("shipmentMethods", random.pick(shipmentMethods).code),
    paymentMethodId: codeId("paymentMethods", method),
    blocked: random.once(200) ? "All" : "_x0020_",
  };
}

function makeItem(seed: string, index: number, number: string): Row {
  const random = randomOf(seed, "item", index);
  const category =
    index === 0 ? "NOLO" : (itemCategories[random.below(itemCategories.length - 1)]?.code ?? "");
  const vintage = 2005 + random.below(19);
  const price = (4_900 + random.below(90_000)) / 100;
  return {
    id: idOf(seed, "item", number),
    number,
    displayName: `${random.pick(estates)} ${random.pick(places)} ${vintage}`,
    displayName2: "",
    type: random.once(50) ? "Non_x002D_Inventory" : "Inventory",
    itemCategoryId: codeId("itemCategories", category),
    itemCategoryCode: category,
    blocked: false,
    gtin: String(5_700_000_000_000 + random.below(999_999_999)),
    inventory: random.below(2_000),
    unitPrice: price,
    priceIncludesTax: false,
    unitCost: Math.round(price * 60) / 100,
    taxGroupId: codeId("taxGroups", "MOMS25"),
    taxGroupCode: "MOMS25",
    baseUnitOfMeasureId: codeId("unitsOfMeasure", "STK"),
    baseUnitOfMeasureCode: "STK",
    generalProductPostingGroupId: codeId("postingGroups", "RETAIL"),
    generalProductPostingGroupCode: "RETAIL",
    inventoryPostingGroupId: codeId("postingGroups", "RESALE"),
    inventoryPostingGroupCode: "RESALE",
  };
}
