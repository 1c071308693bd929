/** A field that this form and another user changed to different values. */
export interface Clash<V> {
  field: string;
  base: V | undefined;
  mine: V | undefined;
  theirs: V | undefined;
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
 * all changes without a conflict.
 */
export function merge<V>(
  base: Readonly<Record<string, V>>,
  mine: Readonly<Record<string, V>>,
  theirs: Readonly<Record<string, V>>,
): Merge<V> {
  const values: Record<string, V> = { ...theirs };
  const clashes: Clash<V>[] = [];
  const takenFromTheirs: string[] = [];
  for (const field of new Set([
    ...Object.keys(base),
    ...Object.keys(mine),
    ...Object.keys(theirs),
  ])) {
    const iChanged = mine[field] !== base[field];
    const theyChanged = theirs[field] !== base[field];
    if (iChanged && mine[field] !== undefined) values[field] = mine[field];
    if (iChanged && theyChanged && mine[field] !== theirs[field])
      clashes.push({ field, base: base[field], mine: mine[field], theirs: theirs[field] });
    else if (theyChanged && !iChanged) takenFromTheirs.push(field);
  }
  return { values, clashes, takenFromTheirs };
}
