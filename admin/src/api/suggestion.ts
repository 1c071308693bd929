/** A row as typing ahead shows it. */
export interface Suggestion {
  id: string;
  name: string;
  detail: string | null;
  color: string | null;
}
