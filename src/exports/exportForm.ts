import type { ExportColumn } from "./exportRows.ts";
import { toSheetName } from "../xlsx/sheetNames.ts";

const pictureRowPoints = 240;

/** Creates a form workbook with one line per field: label on the left, placeholder on the right. */
export async function exportForm(
  name: string,
  lines: readonly Pick<ExportColumn, "field" | "kind" | "title" | "width" | "numberFormat">[],
): Promise<Buffer> {
  // Loaded lazily; most processes never need it.
  const { default: ExcelJS } = await import("exceljs");
  const workbook = new ExcelJS.Workbook();
  const sheet = workbook.addWorksheet(toSheetName(name.trim() || "Export"), {
    pageSetup: {
      orientation: "portrait",
      fitToPage: true,
      fitToWidth: 1,
      fitToHeight: 0,
    },
    views: [{ showGridLines: false }],
  });
  const widths = lines.flatMap(({ width }) => width ?? []);
  sheet.columns = [{ width: 22 }, { width: Math.max(60, ...widths) }];
  for (const [index, { field, kind, title, numberFormat }] of lines.entries()) {
    const row = sheet.getRow(index + 1);
    const [label, value] = [row.getCell(1), row.getCell(2)];
    label.value = title;
    label.font = { bold: true, color: { argb: "FF555555" } };
    label.alignment = { vertical: "top" };
    value.value = `{{${field}}}`;
    value.alignment = { vertical: "top", horizontal: "left", wrapText: true };
    if (numberFormat !== null) value.numFmt = numberFormat;
    else if (kind === "DATE") value.numFmt = "yyyy-mm-dd";
    else if (kind === "DATETIME") value.numFmt = "yyyy-mm-dd hh:mm";
    // The first line is the heading of the form.
    if (index === 0) value.font = { bold: true, size: 16 };
    if (kind === "IMAGE") row.height = pictureRowPoints;
    const hair = { style: "hair", color: { argb: "FFBBBBBB" } } as const;
    for (const cell of [label, value]) cell.border = { bottom: hair };
  }
  return Buffer.from(await workbook.xlsx.writeBuffer());
}
