import { expect, test } from "@jest/globals";
import { rowCursor } from "../../src/xlsx/rowCursor.ts";

/** A source that never responds. */
const silent: AsyncIterable<string> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }),
};

test("a pending read fails when it is aborted, so that what its caller holds is released", async () => {
  const stop = new AbortController();
  const reading = rowCursor(silent, stop.signal).next();
  stop.abort(new Error("cancelled"));
  await expect(reading).rejects.toMatchObject({ cause: { message: "cancelled" } });
});

test("a pending read fails when the rows are closed", async () => {
  const cursor = rowCursor(silent, new AbortController().signal);
  const reading = cursor.more();
  cursor.close();
  await expect(reading).rejects.toThrow("The rows are closed");
});
