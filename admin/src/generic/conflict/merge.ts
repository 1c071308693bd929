/** One field that two people changed to different values. */
export interface Clash<V> {
  field: string;
  base: V | undefined;
  mine: V | undefined;
  theirs: V | undefined;
}

export interface Merge<V> {
  /** The values after both changes; fields that clash keep mine until someone has chosen. */
  values: Record<string, V>;
  clashes: Clash<V>[];
  /** Fields that only they changed. */
  taken: string[];
}

/**
 * Three-way merge of the fields of one row: what was loaded, what was typed, what stands in the database now.
 * Every change that nobody contradicts is in `values`.
 */
export function merge<V>(
  base: Readonly<Record<string, V>>,
  mine: Readonly<Record<string, V>>,
  theirs: Readonly<Record<string, V>>,
): Merge<V> {
  const values: Record<string, V> = { ...theirs };
  const clashes: Clash<V>[] = [];
  const taken: string[] = [];
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
    else if (theyChanged && !iChanged) taken.push(field);
  }
  return { values, clashes, taken };
}
