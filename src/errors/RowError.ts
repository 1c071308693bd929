/** The failure of one row among many that a mutation changes. Callers learn which row it is, beside the cause. */
export class RowError extends Error {
  override name = "RowError";
  readonly row: { id: string; name: string };

  constructor(row: { id: string; name: string }, cause: unknown) {
    super("a row cannot be changed", { cause });
    this.row = row;
  }
}
