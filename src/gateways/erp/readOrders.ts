import type { ErpCallOptions, ErpOrder } from "../erp.ts";
import { codeOfId } from "./codeOfId.ts";
import { orderSchema } from "./orderRecord.ts";
import type { ReadRecords } from "./readRecord.ts";
import { readRecords } from "./readRecord.ts";
import type { References } from "./references.ts";
import { toOrder } from "./toOrder.ts";

/** Reads orders and resolves their references together. */
export async function readOrders(
  raw: readonly unknown[],
  references: References,
  options: ErpCallOptions,
): Promise<ReadRecords<ErpOrder>> {
  const { records, unreadable } = readRecords(raw, orderSchema, (record) => record);
  if (records.length === 0) return { records: [], unreadable };
  const itemNumbers = records.flatMap(({ salesOrderLines }) =>
    salesOrderLines.flatMap(({ lineType, lineObjectNumber }) =>
      lineType === "Item" && lineObjectNumber !== null ? [lineObjectNumber] : [],
    ),
  );
  const customerNumbers = records.flatMap(({ customerNumber }) => customerNumber ?? []);
  const locationIds = records.flatMap(({ salesOrderLines }) =>
    salesOrderLines.map(({ locationId }) => locationId),
  );
  const [terms, shipment, locations, methodIds, categories] = await Promise.all([
    references.codes(
      "paymentTerms",
      records.map(({ paymentTermsId }) => paymentTermsId),
      options,
    ),
    references.codes(
      "shipmentMethods",
      records.map(({ shipmentMethodId }) => shipmentMethodId),
      options,
    ),
    references.codes("locations", locationIds, options),
    references.paymentMethods(customerNumbers, options),
    references.categories(itemNumbers, options),
  ]);
  const methods = await references.codes("paymentMethods", [...methodIds.values()], options);
  const lacksCurrency = records.some(({ currencyCode }) => currencyCode === null);
  const localCurrency = lacksCurrency ? await references.localCurrency(options) : null;
  const method = codeOfId(methods);
  const codes = {
    paymentMethodOf: (customer: string | null) => method(methodIds.get(customer ?? "") ?? null),
    paymentTerms: codeOfId(terms),
    shipmentMethod: codeOfId(shipment),
    location: codeOfId(locations),
    categoryOf: (item: string | null) => categories.get(item ?? "") ?? null,
    localCurrency,
  };
  return { records: records.map((record) => toOrder(record, codes)), unreadable };
}
