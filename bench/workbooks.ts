import { fork } from "node:child_process";
import { createWriteStream, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import type { CellKind, CellValue, TableColumn } from "../src/xlsx/values.ts";
import { writeTable } from "../src/xlsx/writeTable.ts";
import { readCounts } from "./readCounts.ts";

// The table writer compared with other streaming writers, and filling an uploaded workbook (a chart, formulas, a picture per row),
// each in a separate process to measure its memory. Rows come from memory. CPU seconds do not depend on other load.
//   npm run bench -- workbooks [rows] [columns]

const { rows, columns: width } = readCounts({ rows: 100_000, columns: 20 });
const KINDS: readonly CellKind[] = [
  "text",
  "integer",
  "decimal",
  "date",
  "boolean",
  "text",
  "datetime",
  "decimal",
  "text",
  "integer",
];

const columns: TableColumn[] = Array.from({ length: width }, (_, index) => ({
  title: `Column ${index + 1}`,
  kind: KINDS[index % KINDS.length] ?? "text",
}));

function valueOf(row: number, column: number): CellValue {
  switch (columns[column]?.kind) {
    case "integer":
      return row * 7 + column;
    case "decimal":
      return `${row % 1000}.${String((row * 31 + column) % 100).padStart(2, "0")}`;
    case "date":
    case "datetime":
      return new Date(1_700_000_000_000 + row * 61_000);
    case "boolean":
      return (row + column) % 3 === 0;
    default:
      return column % 2 === 0
        ? String(row).padStart(7, "0")
        : `Château Rødgrød & Søn no. ${row}, cuvée ${column}`;
  }
}

function* ourRows(): Generator<CellValue[]> {
  for (let row = 0; row < rows; row++) yield columns.map((_, column) => valueOf(row, column));
}

/** Decimals as numbers, as the other writers require. */
function* theirRows(): Generator<(string | number | boolean | Date | null)[]> {
  for (let row = 0; row < rows; row++)
    yield columns.map(({ kind }, column) => {
      const value = valueOf(row, column);
      return kind === "decimal" || typeof value === "bigint" ? Number(value) : value;
    });
}

const writers: Record<string, (file: string) => Promise<unknown>> = {
  "exceljs, streaming": async (file) => {
    const { default: exceljs } = await import("exceljs");
    const workbook = new exceljs.stream.xlsx.WorkbookWriter({ filename: file, useStyles: true });
    const sheet = workbook.addWorksheet("Products", { views: [{ state: "frozen", ySplit: 1 }] });
    sheet.columns = columns.map(({ title, kind }) => ({
      header: title,
      width: 16,
      style: kind.startsWith("date") ? { numFmt: "yyyy-mm-dd" } : {},
    }));
    let count = 0;
    for (const row of theirRows()) {
      sheet.addRow(row).commit();
      // exceljs never yields to the event loop: without this its whole output stays in memory.
      if (++count % 1000 === 0) await new Promise(setImmediate);
    }
    sheet.commit();
    await workbook.commit();
  },
  "hucre, writeXlsxStream": async (file) => {
    const { writeXlsxStream } = await import("hucre/xlsx");
    await pipeline(
      Readable.fromWeb(
        writeXlsxStream(theirRows(), {
          name: "Products",
          columns: columns.map(({ title, kind }) => ({
            header: title,
            width: 16,
            ...(kind.startsWith("date") ? { numFmt: "yyyy-mm-dd" } : {}),
          })),
          freezePane: { rows: 1 },
        }),
      ),
      createWriteStream(file),
    );
  },
  "writeTable (ours)": (file) =>
    writeTable({
      sheetName: "Products",
      columns,
      rows: Readable.from(ourRows(), { highWaterMark: 1000 }),
      output: createWriteStream(file),
      signal: new AbortController().signal,
    }),
};

const TEMPLATE = join(import.meta.dirname, "../test/fixtures/xlsx/priceList.xlsx");

writers["fillTemplate (9 columns)"] = async (file) => {
  const { fillTemplate } = await import("../src/xlsx/template/fillTemplate.ts");
  const { FIELDS, WINES } = await import("../test/helpers/xlsx/template/wineFields.ts");
  function* records() {
    for (let row = 0; row < rows; row++) yield WINES[row % WINES.length] ?? {};
  }
  await fillTemplate({
    template: TEMPLATE,
    kind: "TABLE",
    fields: FIELDS,
    rows: Readable.from(records()),
    output: createWriteStream(file),
    signal: new AbortController().signal,
  });
};

const name = process.env["BENCH_WRITER"];
if (name === undefined) {
  console.log(`${rows} rows of ${width} mixed columns`);
  console.log(
    `${"writer".padEnd(26)}${"rows/s".padStart(9)}${"CPU s".padStart(8)}${"MiB peak".padStart(10)}${"MiB file".padStart(10)}${"ms longest block".padStart(18)}`,
  );
  for (const writer of Object.keys(writers)) {
    await new Promise<void>((resolve, reject) => {
      fork(import.meta.filename, process.argv.slice(2), {
        env: { ...process.env, BENCH_WRITER: writer },
      }).on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${writer} failed`))));
    });
  }
} else {
  const file = join(tmpdir(), `workbooks-bench-${process.pid}.xlsx`);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const started = performance.now();
  await writers[name]?.(file);
  const seconds = (performance.now() - started) / 1000;
  const { size } = statSync(file);
  await rm(file);
  console.log(
    name.padEnd(26) +
      Math.round(rows / seconds)
        .toLocaleString("en")
        .padStart(9) +
      ((process.cpuUsage().user + process.cpuUsage().system) / 1e6).toFixed(1).padStart(8) +
      (process.resourceUsage().maxRSS / 1024).toFixed(0).padStart(10) +
      (size / 2 ** 20).toFixed(1).padStart(10) +
      (delay.max / 1e6).toFixed(0).padStart(18),
  );
}
