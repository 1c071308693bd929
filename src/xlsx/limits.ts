/** The limits of a worksheet in the file format and in Excel. */
export const SHEET_LIMITS = {
  rows: 1_048_576,
  columns: 16_384,
  /** UTF-16 units in a cell. */
  cellText: 32_767,
  /** UTF-16 units in a sheet's name. */
  sheetName: 31,
  hyperlinks: 65_530,
  /** UTF-16 units in a hyperlink's address. */
  hyperlinkAddress: 2_079,
  /** UTF-16 units in a number format. */
  numberFormat: 255,
  columnWidth: 255,
} as const;
