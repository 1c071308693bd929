import { PassThrough } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "@jest/globals";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import type { TextTable } from "../../src/exports/exportText.ts";
import { writeCsv, writeJsonLines } from "../../src/exports/exportText.ts";
import type { CellValue } from "../../src/xlsx/values.ts";

const columns: TextTable["columns"] = [
  { field: "name", title: "Name", kind: "text" },
  { field: "stock", title: "Stock", kind: "integer" },
  { field: "price", title: "Price", kind: "decimal" },
];
const never = new AbortController().signal;
const writers = { CSV: writeCsv, JSONL: writeJsonLines };

async function* of(rows: readonly CellValue[][]) {
  for (const row of rows) yield await Promise.resolve(row);
}

async function written(write: typeof writeCsv, rows: readonly CellValue[][]): Promise<string> {
  const output = new PassThrough();
  const [bytes, count] = await Promise.all([
    buffer(output),
    write({ columns, rows: of(rows), output, signal: never }),
  ]);
  expect(count).toBe(rows.length);
  return bytes.toString();
}

const rowsOf = fc.array(
  fc.tuple(
    fc.oneof(fc.string({ unit: "grapheme" }), fc.stringMatching(/^[=+@,"'\r\n\t-]{1,8}$/)),
    fc.option(fc.integer()),
    fc.option(fc.stringMatching(/^-?\d{1,9}\.\d{2}$/)),
  ),
  { minLength: 1, maxLength: 20 },
);

describe("the CSV writer", () => {
  test("writes values that another library reads back, with an apostrophe before formulas", async () => {
    await fc.assert(
      fc.asyncProperty(rowsOf, async (rows) => {
        const text = await written(writeCsv, rows);
        const back = parse(Buffer.from(text), { bom: true, record_delimiter: "\r\n" });
        const shown = rows.map(([name, stock, price]) => [
          (/^[=+\-@\t\r\n＝＋－＠]/.test(name) ? `'${name}` : name).replaceAll("\0", ""),
          ...[String(stock ?? ""), price ?? ""],
        ]);
        expect(back).toEqual([["Name", "Stock", "Price"], ...shown]);
      }),
    );
  });

  test("writes the header when there are no rows", async () => {
    expect(await written(writeCsv, [])).toBe("\ufeffName,Stock,Price\r\n");
  });
});

describe("the JSON Lines writer", () => {
  test("writes values that are read back unchanged", async () => {
    await fc.assert(
      fc.asyncProperty(rowsOf, async (rows) => {
        const lines = (await written(writeJsonLines, rows)).split("\n").slice(0, -1);
        expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
          rows.map(([name, stock, price]) => ({ name, stock, price })),
        );
      }),
    );
  });

  test("writes integers beyond JavaScript's safe range as strings", async () => {
    const text = await written(writeJsonLines, [["x", 9_007_199_254_740_993n, null]]);
    expect(text).toBe('{"name":"x","stock":"9007199254740993","price":null}\n');
  });
});

describe.each(Object.entries(writers))("writing %s", (_name, write) => {
  test("applies backpressure to the rows and stops on abort", async () => {
    let asked = 0;
    let closed = false;
    async function* endless(): AsyncGenerator<CellValue[]> {
      try {
        for (;;) yield await Promise.resolve([`Wine ${asked++}`, 1, "1.00"]);
      } finally {
        closed = true;
      }
    }
    const output = new PassThrough({ highWaterMark: 1_000 });
    const controller = new AbortController();
    const writing = write({ columns, rows: endless(), output, signal: controller.signal });
    writing.catch(() => undefined);
    let before = -1;
    while (asked !== before || asked === 0) {
      before = asked;
      for (let turn = 0; turn < 20; turn++) await setImmediate();
    }
    expect(asked).toBeLessThan(10_000);
    controller.abort();
    await expect(writing).rejects.toThrow("aborted");
    expect([closed, output.destroyed]).toEqual([true, true]);
  });

  test("rejects with the error of the rows", async () => {
    async function* broken(): AsyncGenerator<CellValue[]> {
      yield await Promise.resolve(["x", 1, null]);
      throw new Error("the rows broke off");
    }
    const output = new PassThrough();
    output.resume();
    output.on("error", () => undefined);
    const table = { columns, rows: broken(), output, signal: never };
    await expect(write(table)).rejects.toThrow("the rows broke off");
  });
});
