import { createWriteStream, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import ExcelJS from "exceljs";

// The comparison of `bench/exports.ts`: exceljs's streaming writer in a separate process, which repeatedly writes the
// rows of a file from memory. Prints its seconds, its CPU seconds, and the peak memory of the process
// in MiB.

const [rowsFile = "", count = "0", output = "/dev/null"] = process.argv.slice(2);
const { titles, rows } = JSON.parse(readFileSync(rowsFile, "utf8")) as {
  titles: string[];
  rows: (string | number | boolean | null)[][];
};
const started = performance.now();
const used = process.cpuUsage();
const workbook = new ExcelJS.stream.xlsx.WorkbookWriter({
  stream: createWriteStream(output),
  useStyles: true,
  useSharedStrings: false,
});
const sheet = workbook.addWorksheet("Export");
sheet.columns = titles.map((header) => ({ header }));
for (let index = 0; index < Number(count); index++)
  sheet.addRow(rows[index % rows.length] ?? []).commit();
sheet.commit();
await workbook.commit();
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(used);
const status = await readFile("/proc/self/status", "utf8");
const peak = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
process.stdout.write(JSON.stringify({ seconds, cpu: (user + system) / 1e6, peak }));
