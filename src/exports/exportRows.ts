import type pg from "pg";
import Cursor from "pg-cursor";
import type { CellValue, FieldKind } from "../xlsx/values.ts";

/** A column, or a placeholder of a workbook. */
export interface ExportColumn {
  field: string;
  kind: Uppercase<FieldKind>;
  title: string;
  width: number | null;
  numberFormat: string | null;
  /** Whether the reader holds no permission to see it: it stays empty. */
  hidden: boolean;
}

const rowsAtOnce = 250;

/**
 * Reads the products of an export one after the other in their order, as far as the reader may see them, a few hundred in memory at
 * a time. `text` is what `export_query` in the database made for fields of these kinds; a picture is read as its address.
 */
export async function* exportRows(
  client: pg.ClientBase,
  text: string,
  exportId: string,
  kinds: readonly FieldKind[],
): AsyncGenerator<CellValue[]> {
  const cursor = client.query(new Cursor<unknown[]>(text, [exportId], { rowMode: "array" }));
  // The end of a cursor waits for an answer, which does not come where the connection is gone.
  const connectionEnd = Promise.withResolvers<undefined>();
  const onEnd = () => connectionEnd.resolve(undefined);
  client.once("end", onEnd);
  const read = () => {
    const rows = cursor.read(rowsAtOnce);
    // Whoever awaits it sees the failure; when nobody does any more, nobody needs to.
    rows.catch(() => undefined);
    return rows;
  };
  let last = 0;
  let coming = read();
  try {
    for (;;) {
      const rows = await coming;
      if (rows.length === 0) return;
      // The database is at work on these while those are written.
      coming = read();
      for (const [place, ...values] of rows) {
        // The statement has no sort, so as not to wait for one: that it needs none is not left to trust.
        if (typeof place !== "number" || place <= last)
          throw new Error(
            "The products of an export came in another order than they were asked for",
          );
        last = place;
        yield values.map((value, index) => cell(value, kinds[index]));
      }
    }
  } finally {
    await coming.catch(() => undefined);
    await Promise.race([cursor.close(), connectionEnd.promise]);
    client.off("end", onEnd);
  }
}

/** The statement gives everything as text, but for truth values and points in time. */
function cell(value: unknown, kind: FieldKind | undefined): CellValue {
  if (value instanceof Date || typeof value === "boolean") return value;
  if (typeof value !== "string") return null;
  if (kind !== "integer") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}
