import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CellKind, CellValue } from "../../src/xlsx/values.ts";
import { writeTable } from "../../src/xlsx/writeTable.ts";
import { collect, never, streamOf } from "../helpers/xlsx/collect.ts";
import { readBook, readRows } from "../helpers/xlsx/readers.ts";
import { fillWithRecords, smallBook } from "../helpers/xlsx/template/wineFields.ts";

const DAY = 86_400_000;

/** A value, its kind, and what a reader must return. */
type Sample = { kind: CellKind; value: CellValue; expected: unknown };

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.stringMatching(/^[=+\-@\t\r ][ -~]{0,10}$/),
  fc
    .array(fc.constantFrom("_", "x", "0041", "_x000D_", "\u0001", "\r", "\n", " ", "&", "<", "0"), {
      maxLength: 12,
    })
    .map((list) => list.join("")),
);

const sample: fc.Arbitrary<Sample> = fc.oneof(
  anyText.map((value) => ({ kind: "text" as const, value, expected: value === "" ? null : value })),
  fc.integer().map((value) => ({ kind: "integer" as const, value, expected: value })),
  fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map((value) => ({
    kind: "integer" as const,
    value,
    expected:
      String(value).replace(/^-/, "").replace(/0+$/, "").length <= 15
        ? Number(value)
        : String(value),
  })),
  fc
    .tuple(fc.integer({ min: -(10 ** 9), max: 10 ** 9 }), fc.nat(10 ** 5))
    .map(([whole, fraction]) => {
      const value = `${whole}.${String(fraction).padStart(5, "0")}`;
      return { kind: "decimal" as const, value, expected: Number(value) };
    }),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => ({
    kind: "decimal" as const,
    value,
    // Excel has neither the largest and smallest doubles nor negative zero.
    expected:
      Math.abs(value) > 9.99999999999999e307 ||
      (value !== 0 && Math.abs(value) < 2.2250738585072e-308)
        ? String(value)
        : value + 0,
  })),
  fc.boolean().map((value) => ({ kind: "boolean" as const, value, expected: value })),
  fc
    .date({ min: new Date("1900-03-01"), max: new Date("9999-12-31"), noInvalidDate: true })
    .map((value) => ({
      kind: "date" as const,
      value,
      expected: new Date(Math.floor(value.getTime() / DAY) * DAY),
    })),
  fc.constant({ kind: "text" as const, value: null, expected: null }),
);

describe("tables", () => {
  test("random cells are read back unchanged by two readers", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sample, { minLength: 1, maxLength: 12 }), async (samples) => {
        const { output, bytes } = collect();
        await writeTable({
          sheetName: "Random",
          columns: samples.map(({ kind }, index) => ({ title: `${kind} ${index}`, kind })),
          rows: streamOf([
            samples.map(({ value }) => value),
            samples.map(() => null),
            samples.map(({ value }) => value),
          ]),
          output,
          signal: never(),
        });
        const [rows = []] = await readRows(bytes());
        const sheet = (await readBook(bytes())).worksheets[0]!;
        samples.forEach(({ expected }, index) => {
          for (const row of [1, 3]) {
            expect(rows[row]?.[index] ?? null).toEqual(expected);
            const value = sheet.getCell(row + 1, index + 1).value;
            expect(typeof value === "string" ? withoutEscapes(value) : value).toEqual(expected);
          }
        });
      }),
      { numRuns: 150 },
    );
  });
});

/** exceljs does not decode the escapes of inline strings. */
function withoutEscapes(text: string): string {
  return text.replace(/_x([0-9a-f]{4})_/gi, (_whole, code: string) =>
    String.fromCharCode(parseInt(code, 16)),
  );
}

/** A formula in a template, and the template's rows that it sums. */
interface Asked {
  readonly row: number;
  readonly formula: string;
  readonly from: number;
  readonly to: number;
}

const shape = fc
  .record({
    block: fc.integer({ min: 2, max: 8 }),
    rows: fc.integer({ min: 9, max: 14 }),
    records: fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 1, maxLength: 6 }),
    numbers: fc.array(fc.integer({ min: -1000, max: 1000 }), { minLength: 14, maxLength: 14 }),
    ranges: fc.array(
      fc.record({
        at: fc.integer({ min: 1, max: 14 }),
        from: fc.integer({ min: 1, max: 14 }),
        to: fc.integer({ min: 1, max: 14 }),
        dollars: fc.integer({ min: 0, max: 15 }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  })
  .map((given) => {
    const asked = new Map<number, Asked>();
    for (const { at, from, to, dollars } of given.ranges) {
      if (at === given.block || at > given.rows) continue;
      const [first, last] = [Math.min(from, to), Math.max(from, to)];
      const cell = (row: number, bits: number) =>
        `${bits & 1 ? "$" : ""}A${bits & 2 ? "$" : ""}${row}`;
      const range = `${cell(first, dollars)}:${cell(last, dollars >> 2)}`;
      asked.set(at, { row: at, formula: `=SUM(${range})`, from: first, to: last });
    }
    return { ...given, asked: [...asked.values()] };
  });

describe("templates", () => {
  test("random sums over random rows are correct at any position of the repeated row", async () => {
    await fc.assert(
      fc.asyncProperty(shape, async ({ block, rows, records, numbers, asked }) => {
        const cells: Record<string, string | number> = {};
        const value = (row: number) => numbers[row - 1] ?? 0;
        for (let row = 1; row <= rows; row++)
          cells[`A${row}`] = row === block ? "{{stock}}" : value(row);
        for (const { row, formula } of asked) cells[`B${row}`] = formula;
        const others = Object.fromEntries(
          asked.map(({ row, formula }) => [`B${row}`, formula.replace("(", "(S!")]),
        );
        const template = await smallBook({ S: cells, T: { A1: "Other", ...others } });
        const { bytes } = await fillWithRecords(
          template,
          "TABLE",
          records.map((stock) => ({ stock })),
        );
        const book = await readBook(bytes);
        const sheet = book.getWorksheet("S")!;
        const added = records.length - 1;
        expect(sheet.rowCount).toBe(rows + added);
        const sumOf = (formula: string | undefined) => {
          const [, from, to] = /^SUM\((?:S!)?\$?A\$?(\d+):\$?A\$?(\d+)\)$/
            .exec(formula ?? "")!
            .map(Number);
          let sum = 0;
          for (let row = from!; row <= to!; row++) sum += Number(sheet.getCell(row, 1).value ?? 0);
          return sum;
        };
        for (const { row, from, to } of asked) {
          let expected = 0;
          for (let each = from; each <= to; each++)
            if (each === block) for (const record of records) expected += record;
            else if (each <= rows) expected += value(each);
          expect(sumOf(sheet.getCell(row > block ? row + added : row, 2).formula)).toBe(expected);
          expect(sumOf(book.getWorksheet("T")!.getCell(row, 2).formula)).toBe(expected);
        }
      }),
      { numRuns: 100 },
    );
  });
});
