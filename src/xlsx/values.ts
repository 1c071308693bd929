/**
 * A value for one cell. Decimals are texts (`"12.50"`), so that none is rounded on its way here; a date may be a `Date` (its UTC
 * day) or `YYYY-MM-DD`, a moment a `Date` or an ISO text; null is an empty cell.
 */
export type CellValue = string | number | bigint | boolean | Date | null;

/** What a column or field holds, which decides how its values are written. */
export type CellKind = "text" | "integer" | "decimal" | "boolean" | "date" | "datetime" | "url";

/** What a placeholder of a template may stand for. */
export type FieldKind = CellKind | "image";

/** A picture to put over a cell; without a size, that of the picture itself is read from its bytes. */
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
  /** In characters of the standard font; by default what suits the title and the kind. */
  readonly width?: number | undefined;
  /** As in Excel, such as `#,##0.00` or `yyyy-mm-dd`. */
  readonly numberFormat?: string | undefined;
  readonly kind: CellKind;
}
