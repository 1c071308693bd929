/** A row as autocompletion shows it. */
export interface Suggestion {
  id: string;
  name: string;
  detail: string | null;
  color: string | null;
}
