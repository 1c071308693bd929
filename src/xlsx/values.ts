/**
 * The value of a cell. Decimals are strings (`"12.50"`) to avoid rounding; a date is a `Date` (its UTC day) or
 * `YYYY-MM-DD`, a timestamp a `Date` or an ISO string; null is an empty cell.
 */
export type CellValue = string | number | bigint | boolean | Date | null;

/** The type of a column or field, which determines how values are written. */
export type CellKind =
  | "text"
  | "integer"
  | "decimal"
  | "boolean"
  | "date"
  | "datetime"
  | "url"
  /** The text of a JSON value. */
  | "json";

/** The type of a template placeholder. */
export type FieldKind = CellKind | "image";

/** A picture above a cell. Without width and height, its own size is read from its bytes. */
export interface ImageValue {
  readonly bytes: Uint8Array;
  readonly type: "image/png" | "image/jpeg";
  /** In pixels. */
  readonly width?: number;
  /** In pixels. */
  readonly height?: number;
}

/** One column of a table. */
export interface TableColumn {
  readonly title: string;
  /** In characters of the standard font; by default derived from title and kind. */
  readonly width?: number | undefined;
  /** An Excel number format, such as `#,##0.00` or `yyyy-mm-dd`. */
  readonly numberFormat?: string | undefined;
  readonly kind: CellKind;
}
