/** A cell of a list. */
export interface Place {
  row: number;
  column: number;
}

const start: Place = { row: 0, column: 0 };
/** The last places by entry of the browser's history, oldest first. */
const places = new Map<string, Place>();
const maxPlaces = 50;

/** The place that the list of this history entry had; the first row for a new entry. */
export function placeAt(key: string | undefined): Place {
  return (key === undefined ? undefined : places.get(key)) ?? start;
}

export function rememberPlace(key: string | undefined, place: Place): void {
  if (key === undefined) return;
  places.delete(key);
  places.set(key, place);
  const [oldest] = places.keys();
  if (places.size > maxPlaces && oldest !== undefined) places.delete(oldest);
}
