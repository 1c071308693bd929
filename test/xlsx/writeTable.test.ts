import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import type { CellKind, CellValue } from "../../src/xlsx/values.ts";
import type { TableOptions } from "../../src/xlsx/writeTable.ts";
import { writeTable } from "../../src/xlsx/writeTable.ts";
import { longestBusyShare } from "../helpers/xlsx/longestBusyShare.ts";
import { collect, never, streamOf } from "../helpers/xlsx/collect.ts";
import { readBook, readParts, readRows } from "../helpers/xlsx/readers.ts";

async function written(
  columns: TableOptions["columns"],
  rows: readonly (readonly CellValue[])[],
  options: Partial<TableOptions> = {},
) {
  const { output, bytes } = collect();
  const result = await writeTable({
    sheetName: "Products",
    columns,
    rows: streamOf(rows),
    output,
    signal: never(),
    ...options,
  });
  return { ...result, bytes: bytes() };
}

/** Writes a one-column table; returns the cells below its title and the notes. */
async function cellsOf(kind: CellKind, values: readonly CellValue[]) {
  const { bytes, notes } = await written(
    [{ title: "A", kind }],
    values.map((value) => [value]),
  );
  const [rows = []] = await readRows(bytes);
  return { cells: values.map((_, index) => rows[index + 1]?.[0] ?? null), notes, bytes };
}

describe("cells", () => {
  test("numbers, decimals, booleans, dates and timestamps are typed and formatted", async () => {
    const { bytes, rows, notes } = await written(
      [
        { title: "Stock", kind: "integer" },
        { title: "Price", kind: "decimal", numberFormat: '#,##0.00 "kr"' },
        { title: "Active", kind: "boolean" },
        { title: "Since", kind: "date" },
        { title: "Changed", kind: "datetime" },
      ],
      [
        [12, "12.50", true, new Date("2026-01-31T23:00:00Z"), new Date("2026-01-31T12:34:56.789Z")],
        [-7n, "-0.01", false, "1900-03-01", "2026-01-31 12:34:56+01"],
      ],
    );
    const sheet = (await readBook(bytes)).worksheets[0]!;
    const values = [2, 3].map((row) =>
      [1, 2, 3, 4, 5].map((column) => sheet.getCell(row, column).value),
    );
    expect({ rows, notes, values }).toEqual({
      rows: 2,
      notes: [],
      values: [
        [12, 12.5, true, new Date("2026-01-31"), new Date("2026-01-31T12:34:56.789Z")],
        [-7, -0.01, false, new Date("1900-03-01"), new Date("2026-01-31T11:34:56Z")],
      ],
    });
    expect(["A2", "B2", "C2", "D2", "E2"].map((cell) => sheet.getCell(cell).numFmt)).toEqual([
      "0",
      '#,##0.00 "kr"',
      undefined,
      "yyyy-mm-dd",
      "yyyy-mm-dd hh:mm:ss",
    ]);
  });

  test.each([
    "=1+1",
    "+45 12",
    "-5",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "=cmd|' /C calc'!A0",
    "007",
    "1e5",
    "TRUE",
  ])("the text %j stays text, also after an edit", async (text) => {
    const { cells, bytes } = await cellsOf("text", [text]);
    expect(cells).toEqual([text]);
    const sheet = (await readParts(bytes)).get("xl/worksheets/sheet1.xml")!.toString();
    const style = /<c r="A2" s="(\d+)" t="inlineStr">/.exec(sheet)?.[1];
    const styles = (await readParts(bytes)).get("xl/styles.xml")!.toString();
    const formats = /<cellXfs[^>]*>(.*)<\/cellXfs>/.exec(styles)![1]!.match(/<xf .*?<\/xf>/g)!;
    expect(formats[Number(style)]).toContain('quotePrefix="1"');
    expect(sheet).not.toContain("<f");
  });

  test("texts with any Unicode, spaces, line breaks, control characters and escape-like sequences are read back unchanged", async () => {
    const texts = [
      "Rødgrød 東京 🍷👩‍🌾 𝔘 \u202eabc",
      "  two before, two after  ",
      "one\ntwo\r\nthree\tfour",
      "\u0000\u0001\u001f\ufffe\uffff",
      "_x0041_ _x004a_ _x005F_ _x0041_x0042_ _x12_",
      "_x0041\u0001",
      `<b a="1">&amp;'</b> ]]>`,
      "",
    ];
    const { cells, notes } = await cellsOf("text", texts);
    expect(cells.map((cell) => cell ?? "")).toEqual(texts);
    expect(notes).toEqual([]);
  });

  test("text above a cell's limit is truncated between characters, with a note", async () => {
    const { cells, notes } = await cellsOf("text", [
      "x".repeat(32_767),
      "x".repeat(32_768),
      `${"x".repeat(32_766)}🍷`,
    ]);
    expect(cells.map((cell) => (cell as string).length)).toEqual([32_767, 32_767, 32_766]);
    expect(notes).toEqual([
      "A, 2 cells (the first is A3): text beyond the 32,767 characters of a cell is cut off",
    ]);
  });

  test("an unpaired surrogate becomes the replacement character, with a note", async () => {
    const { cells, notes } = await cellsOf("text", ["a\ud83c", "b"]);
    expect(cells).toEqual(["a\ufffd", "b"]);
    expect(notes).toHaveLength(1);
  });

  test.each<[CellKind, CellValue, unknown, string | null]>([
    ["decimal", "123456789012345", 123456789012345, null],
    ["integer", 1234567890123456n, "1234567890123456", "more than 15 digits"],
    ["integer", 10n ** 18n, 1e18, null],
    ["decimal", "1234567890123456.5", "1234567890123456.5", "more than 15 digits"],
    ["decimal", "91.3333333333333333", 91.33333333333333, "rounded"],
    ["decimal", "0.10", 0.1, null],
    ["decimal", "-.5", -0.5, null],
    ["decimal", "1e400", "1e400", "too large"],
    ["decimal", "NaN", "NaN", "not a number"],
    ["decimal", Infinity, "Infinity", "not a number"],
    ["decimal", "", null, null],
    ["decimal", "12,50", "12,50", "not a number"],
    ["decimal", "0x10", "0x10", "not a number"],
    ["date", "1900-02-28", "1900-02-28", "before 1 March 1900"],
    ["date", "1900-02-29", "1900-02-29", "not a date"],
    ["date", "2026-02-30", "2026-02-30", "not a date"],
    ["date", "9999-12-31", new Date("9999-12-31"), null],
    ["date", new Date("+010000-01-01"), "+010000-01-01", "after 9999"],
    ["date", "infinity", "infinity", "not a date"],
    ["date", new Date(NaN), null, "not a date"],
    ["date", 5, "5", "not a date"],
    ["datetime", "2026-01-31T12:00", "2026-01-31T12:00", "not a date"],
    ["text", 12.5, "12.5", null],
    ["text", new Date("2026-01-31T12:00:00Z"), "2026-01-31 12:00:00", null],
  ])("a %s of %p becomes %p (noted: %s)", async (kind, value, expected, note) => {
    const { cells, notes } = await cellsOf(kind, [value]);
    expect(cells).toEqual([expected]);
    if (note === null) expect(notes).toEqual([]);
    else expect(notes).toEqual([expect.stringContaining(note)]);
  });

  test("web addresses become links, other addresses stay text", async () => {
    const good = "https://example.com/wine?a=1&b=ø";
    const { bytes } = await cellsOf("url", [
      good,
      "javascript:alert(1)",
      "file:///etc/passwd",
      "wine",
    ]);
    const sheet = (await readBook(bytes)).worksheets[0]!;
    expect(["A2", "A3", "A4", "A5"].map((cell) => sheet.getCell(cell).hyperlink)).toEqual([
      good,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("the sheet", () => {
  const columns = [
    { title: "Number", kind: "text" },
    { title: "=Price", kind: "decimal", width: 33 },
  ] as const;

  test("has a bold, frozen header with a filter, column widths, print titles, and document properties", async () => {
    const { bytes } = await written(columns, [["001", "1"]], {
      properties: { title: "Prices <&>", creator: "Back office", created: new Date("2026-01-31") },
    });
    const book = await readBook(bytes);
    const sheet = book.worksheets[0]!;
    expect(sheet.getCell("A1").font.bold).toBe(true);
    expect(sheet.getCell("B1").value).toBe("=Price");
    expect(sheet.views[0]).toMatchObject({ state: "frozen", ySplit: 1 });
    expect(sheet.autoFilter).toBe("A1:B2");
    expect(sheet.getColumn(2).width).toBe(33);
    expect(sheet.pageSetup.printTitlesRow).toBe("1:1");
    expect(book.title).toBe("Prices <&>");
    expect(book.creator).toBe("Back office");
    expect(book.created).toEqual(new Date("2026-01-31"));
  });

  test("without rows has only its header", async () => {
    const { bytes, rows } = await written(columns, []);
    expect(rows).toBe(0);
    expect(await readRows(bytes)).toEqual([[["Number", "=Price"]]]);
  });

  test("is continued on another sheet with the same header when it is full", async () => {
    const { bytes, rows, notes } = await written(
      columns,
      [1, 2, 3, 4].map((row) => [`00${row}`, row === 4 ? "x" : String(row)]),
      { rowsPerSheet: 3 },
    );
    const book = await readBook(bytes);
    expect(book.worksheets.map(({ name, rowCount }) => [name, rowCount])).toEqual([
      ["Products", 3],
      ["Products (2)", 3],
    ]);
    expect(rows).toBe(4);
    expect(await readRows(bytes)).toEqual([
      [
        ["Number", "=Price"],
        ["001", 1],
        ["002", 2],
      ],
      [
        ["Number", "=Price"],
        ["003", 3],
        ["004", "x"],
      ],
    ]);
    expect(notes).toEqual([
      "=Price, 1 cell (Products (2)!B3): a value that is not a number is kept as text",
    ]);
  });

  test("has a valid name similar to the requested one", async () => {
    const nameOf = async (sheetName: string) =>
      (await readBook((await written(columns, [], { sheetName })).bytes)).worksheets[0]?.name;
    expect(await nameOf("'Prices: [a]/b?*\\'")).toBe("Prices a b");
    expect(await nameOf("History")).toBe("History sheet");
    expect(await nameOf("  ")).toBe("sheet");
    expect(await nameOf("🍷".repeat(16))).toBe("🍷".repeat(15));
    expect(await nameOf("Tom & Jerry's <b>")).toBe("Tom & Jerry's <b>");
  });

  test.each([
    ["no columns", [], "at least one column"],
    ["too many columns", Array.from({ length: 16_385 }, () => columns[0]), "at most 16384 columns"],
    [
      "a format that Excel refuses",
      [{ ...columns[0], numberFormat: "0 kr" }],
      "from character 3 on",
    ],
    ["a width of nothing", [{ ...columns[0], width: 0 }], "the width is more than 0"],
  ])("with %s is rejected before anything is written", async (_name, bad, message) => {
    const { output, bytes } = collect();
    await expect(
      writeTable({ sheetName: "A", columns: bad, rows: streamOf([]), output, signal: never() }),
    ).rejects.toThrow(message);
    expect(bytes()).toHaveLength(0);
    expect(output.destroyed).toBe(true);
  });
});

describe("streaming", () => {
  const columns = [{ title: "Text", kind: "text" }] as const;

  /** Endless rows that count reads and record the close. */
  function endless() {
    const seen = { taken: 0, closed: false };
    const rows = (async function* () {
      try {
        for (;;) {
          await Promise.resolve();
          seen.taken++;
          // Incompressible, so that the output fills up.
          yield [randomBytes(300).toString("base64")];
        }
      } finally {
        seen.closed = true;
      }
    })();
    return { rows, seen };
  }

  test("reads rows with backpressure", async () => {
    const { rows, seen } = endless();
    const stop = new AbortController();
    let full: () => void = () => {};
    const stuck = new Promise<void>((resolve) => (full = resolve));
    // Accepts one chunk and then none.
    const output = new Writable({ write: () => full() });
    const writing = writeTable({ sheetName: "A", columns, rows, output, signal: stop.signal });
    await stuck;
    let before = -1;
    // The buffers in between fill within a few ticks of the event loop.
    while (before !== seen.taken) {
      before = seen.taken;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(seen.taken).toBeLessThan(10_000);
    stop.abort(new Error("cancelled"));
    await expect(writing).rejects.toThrow("cancelled");
    expect(output.destroyed).toBe(true);
    expect(seen.closed).toBe(true);
  });

  test("ends at once when aborted while it waits for rows", async () => {
    const stop = new AbortController();
    let asked: () => void = () => {};
    const waiting = new Promise<void>((resolve) => (asked = resolve));
    let closed = false;
    const rows = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          asked();
          return new Promise<never>(() => {});
        },
        return: () => {
          closed = true;
          return Promise.resolve({ done: true, value: undefined } as const);
        },
      }),
    };
    const { output } = collect();
    const writing = writeTable({ sheetName: "A", columns, rows, output, signal: stop.signal });
    await waiting;
    stop.abort();
    await expect(writing).rejects.toMatchObject({ name: "AbortError" });
    expect(closed).toBe(true);
    expect(output.destroyed).toBe(true);
  });

  test("writes nothing with an already aborted signal", async () => {
    const { rows, seen } = endless();
    const { output, bytes } = collect();
    const signal = AbortSignal.abort(new Error("too late"));
    await expect(writeTable({ sheetName: "A", columns, rows, output, signal })).rejects.toThrow(
      "too late",
    );
    expect([bytes().length, seen.taken]).toEqual([0, 0]);
  });

  test("rejects when the rows or the output fail, and closes the other", async () => {
    const { output } = collect();
    const failing = (async function* () {
      yield await Promise.resolve(["a"]);
      throw new Error("connection lost");
    })();
    await expect(
      writeTable({ sheetName: "A", columns, rows: failing, output, signal: never() }),
    ).rejects.toThrow("connection lost");
    expect(output.destroyed).toBe(true);

    const { rows, seen } = endless();
    const broken = new Writable({
      write: (_chunk, _encoding, done) => done(new Error("disk full")),
    });
    await expect(
      writeTable({ sheetName: "A", columns, rows, output: broken, signal: never() }),
    ).rejects.toThrow("disk full");
    expect(seen.closed).toBe(true);
  });

  test("yields to the event loop every few milliseconds", async () => {
    const three = [
      { title: "Name", kind: "text" },
      { title: "Stock", kind: "integer" },
      { title: "Active", kind: "boolean" },
    ] as const;
    const full = Array.from({ length: 30_000 }, (_, row) => [`Wine ${row}`, row, row % 2 === 0]);
    expect(await longestBusyShare(() => written(three, full))).toBeLessThan(0.3);
    // Wide, empty rows take time but produce little output.
    const wide = Array.from({ length: 10_000 }, (_, column) => ({
      title: `${column}`,
      kind: "text" as const,
    }));
    const empty = Array<null[]>(8_000).fill(Array<null>(10_000).fill(null));
    expect(await longestBusyShare(() => written(wide, empty))).toBeLessThan(0.1);
  });
});
