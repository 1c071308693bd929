/** A value that this form and another user changed differently. */
export interface Clash<V> {
  /** The field, or an amount and its currency, which are chosen together. */
  fields: readonly string[];
  base: Readonly<Record<string, V>>;
  mine: Readonly<Record<string, V>>;
  theirs: Readonly<Record<string, V>>;
}

export interface Merge<V> {
  /** The merged values. A field in conflict has the value of `mine` until the user chooses. */
  values: Record<string, V>;
  clashes: Clash<V>[];
  /** Fields that only the other user changed. */
  takenFromTheirs: string[];
}

/**
 * Merges the fields of a row three ways: `base` as loaded, `mine` as edited, `theirs` as now stored. `values` contains
 * all changes without a conflict. `currencies` has the field of the currency by the field of its amount: they are one
 * value when a side changed the currency.
 */
export function merge<V>(
  base: Readonly<Record<string, V>>,
  mine: Readonly<Record<string, V>>,
  theirs: Readonly<Record<string, V>>,
  currencies: ReadonlyMap<string, string>,
): Merge<V> {
  const values: Record<string, V> = { ...theirs };
  const clashes: Clash<V>[] = [];
  const takenFromTheirs: string[] = [];
  const iChanged = (field: string) => mine[field] !== base[field];
  const theyChanged = (field: string) => theirs[field] !== base[field];
  const names = Object.keys({ ...base, ...mine, ...theirs });
  for (const fields of Map.groupBy(names, (name) => {
    // Amounts in an unchanged currency are independent of each other.
    const currency = currencies.get(name);
    return currency !== undefined && (iChanged(currency) || theyChanged(currency))
      ? currency
      : name;
  }).values()) {
    const isMine = fields.some(iChanged);
    for (const field of fields)
      if (isMine && mine[field] !== undefined) values[field] = mine[field];
    if (
      isMine &&
      fields.some(theyChanged) &&
      fields.some((field) => mine[field] !== theirs[field])
    ) {
      const valuesOf = (side: Readonly<Record<string, V>>) =>
        Object.fromEntries(
          fields.flatMap((field) => (field in side ? [[field, side[field] as V]] : [])),
        );
      clashes.push({
        fields,
        base: valuesOf(base),
        mine: valuesOf(mine),
        theirs: valuesOf(theirs),
      });
    } else
      takenFromTheirs.push(...fields.filter((field) => theyChanged(field) && !iChanged(field)));
  }
  return { values, clashes, takenFromTheirs };
}
