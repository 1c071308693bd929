/** A cell of a list; row -1 is that of the titles. */
export interface Place {
  row: number;
  column: number;
}

/** The last places by entry of the browser's history, oldest first. */
const places = new Map<string, Place>();
const maxPlaces = 50;

/** The place that the list of this history entry had; undefined for a new entry. */
export function placeAt(key: string | undefined): Place | undefined {
  return key === undefined ? undefined : places.get(key);
}

export function rememberPlace(key: string | undefined, place: Place): void {
  if (key === undefined) return;
  places.delete(key);
  places.set(key, place);
  const [oldest] = places.keys();
  if (places.size > maxPlaces && oldest !== undefined) places.delete(oldest);
}
