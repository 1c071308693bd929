import type { EntityField } from "../../meta/entities.ts";

/** The fields of currencies by the fields of their amounts, as far as both are in `fields`. */
export function currenciesOf(fields: readonly EntityField[]): ReadonlyMap<string, string> {
  const names = new Set(fields.map(({ name }) => name));
  return new Map(
    fields.flatMap(({ name, currencyField }) =>
      currencyField !== null && names.has(currencyField) ? [[name, currencyField]] : [],
    ),
  );
}

/** The fields to restore with `field`: an amount in another currency than now, and its currency, are restored together. */
export function restoredTogether(
  fields: readonly EntityField[],
  { name, currencyField }: EntityField,
  hasChanged: (field: EntityField) => boolean,
): readonly EntityField[] {
  const currency = fields.find((field) => field.name === (currencyField ?? name));
  const isTogether = currency !== undefined && hasChanged(currency);
  return fields.filter(
    (field) =>
      field.name === name ||
      (isTogether && (field === currency || field.currencyField === currency.name)),
  );
}
