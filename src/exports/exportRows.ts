import type pg from "pg";
import Cursor from "pg-cursor";
import type { CellValue, FieldKind } from "../xlsx/values.ts";

/** A column of a table, or a placeholder of a workbook. */
export interface ExportColumn {
  field: string;
  kind: Uppercase<FieldKind>;
  title: string;
  width: number | null;
  numberFormat: string | null;
  /** Whether the reader lacks the permission to see the column; it stays empty. */
  hidden: boolean;
}

const fetchSize = 250;

/**
 * Reads an export's rows in order and in batches, limited to what the reader may see. The statement returns the number of the
 * row, then the fields of these kinds; a picture is read as its URL.
 */
export async function* exportRows(
  client: pg.ClientBase,
  { text, values }: { text: string; values: unknown[] },
  kinds: readonly FieldKind[],
): AsyncGenerator<CellValue[]> {
  const cursor = client.query(new Cursor<unknown[]>(text, values, { rowMode: "array" }));
  // Closing a cursor waits for a response, which never arrives on a lost connection.
  const connectionEnd = Promise.withResolvers<undefined>();
  const onEnd = () => connectionEnd.resolve(undefined);
  client.once("end", onEnd);
  const read = () => {
    const rows = cursor.read(fetchSize);
    // Prevents an unhandled rejection when the consumer has stopped; otherwise the awaiting code handles it.
    rows.catch(() => undefined);
    return rows;
  };
  let last = 0;
  let nextBatch = read();
  try {
    for (;;) {
      const rows = await nextBatch;
      if (rows.length === 0) return;
      // The database reads the next batch while this one is written.
      nextBatch = read();
      for (const [position, ...cells] of rows) {
        // The statement relies on the plan's order instead of a sort, so the order is checked here.
        if (typeof position !== "number" || position <= last)
          throw new Error("The export query returned rows out of order");
        last = position;
        yield cells.map((value, index) => cell(value, kinds[index]));
      }
    }
  } finally {
    await nextBatch.catch(() => undefined);
    await Promise.race([cursor.close(), connectionEnd.promise]);
    client.off("end", onEnd);
  }
}

/** The statement returns all values as text, except booleans and timestamps. */
function cell(value: unknown, kind: FieldKind | undefined): CellValue {
  if (value instanceof Date || typeof value === "boolean") return value;
  if (typeof value !== "string") return null;
  if (kind !== "integer") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}
