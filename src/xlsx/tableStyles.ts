import type { CellKind } from "./values.ts";
import { xmlText } from "./xmlText.ts";

/** The cell format indexes of a column. */
export interface ColumnStyles {
  readonly value: number;
  /** For text that Excel would convert when a user edits the cell. */
  readonly quoted: number;
  /** For multi-line text. */
  readonly wrapped: number;
  readonly quotedWrapped: number;
}

const DEFAULT_FORMATS: Readonly<Record<CellKind, string>> = {
  text: "General",
  url: "General",
  integer: "0",
  decimal: "General",
  boolean: "General",
  date: "yyyy-mm-dd",
  datetime: "yyyy-mm-dd hh:mm:ss",
  json: "General",
};
/** Built-in formats need no entry. */
const BUILT_IN: Readonly<Record<string, number>> = {
  General: 0,
  "0": 1,
  "0.00": 2,
  "#,##0": 3,
  "#,##0.00": 4,
  "0%": 9,
  "0.00%": 10,
  "@": 49,
};
const FIRST_CUSTOM = 164;
const PLAIN_FONT = 0;
const BOLD_FONT = 1;
const LINK_FONT = 2;
const HEADER = 1;
const HEADER_QUOTED = 2;

/** Creates the styles of a table's columns and header, and the `styles.xml` that defines them. */
export function tableStyles(
  columns: readonly { kind: CellKind; numberFormat?: string | undefined }[],
): {
  columns: ColumnStyles[];
  header: { plain: number; quoted: number };
  xml: string;
} {
  const formats = new Map<string, number>();
  const styles: string[] = [
    xf(0, PLAIN_FONT),
    xf(0, BOLD_FONT, { fill: 2, border: 1, wrap: true }),
    xf(0, BOLD_FONT, { fill: 2, border: 1, wrap: true, quote: true }),
  ];
  const known = new Map<string, number>();
  const idOf = (style: string) => {
    const id = known.get(style) ?? styles.push(style) - 1;
    known.set(style, id);
    return id;
  };
  const formatOf = (code: string) => {
    const id = BUILT_IN[code] ?? formats.get(code) ?? FIRST_CUSTOM + formats.size;
    if (!(code in BUILT_IN)) formats.set(code, id);
    return id;
  };
  const columnStyles = columns.map(({ kind, numberFormat }) => {
    const format = formatOf(numberFormat ?? DEFAULT_FORMATS[kind]);
    const font = kind === "url" ? LINK_FONT : PLAIN_FONT;
    return {
      value: idOf(xf(format, font)),
      quoted: idOf(xf(format, font, { quote: true })),
      wrapped: idOf(xf(format, font, { wrap: true })),
      quotedWrapped: idOf(xf(format, font, { quote: true, wrap: true })),
    };
  });
  return {
    columns: columnStyles,
    header: { plain: HEADER, quoted: HEADER_QUOTED },
    xml: stylesXml(formats, styles),
  };
}

function xf(
  format: number,
  font: number,
  { fill = 0, border = 0, wrap = false, quote = false } = {},
): string {
  const alignment = wrap
    ? '<alignment vertical="top" wrapText="1"/>'
    : '<alignment vertical="top"/>';
  return (
    `<xf numFmtId="${format}" fontId="${font}" fillId="${fill}" borderId="${border}" xfId="0"` +
    `${quote ? ' quotePrefix="1"' : ""} applyNumberFormat="1" applyFont="1" applyFill="1" applyBorder="1"` +
    ` applyAlignment="1">${alignment}</xf>`
  );
}

function stylesXml(formats: ReadonlyMap<string, number>, styles: readonly string[]): string {
  const numFmts = [...formats].map(
    ([code, id]) => `<numFmt numFmtId="${id}" formatCode="${xmlText(code)}"/>`,
  );
  return (
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n` +
    `<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
    (numFmts.length > 0 ? `<numFmts count="${numFmts.length}">${numFmts.join("")}</numFmts>` : "") +
    `<fonts count="3">${font("", "FF000000")}${font("<b/>", "FF000000")}${font("<u/>", "FF0563C1")}</fonts>` +
    `<fills count="3"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>` +
    `<fill><patternFill patternType="solid"><fgColor rgb="FFEDEDED"/><bgColor indexed="64"/></patternFill></fill></fills>` +
    `<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border>` +
    `<border><left/><right/><top/><bottom style="thin"><color rgb="FF7F7F7F"/></bottom><diagonal/></border></borders>` +
    `<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
    `<cellXfs count="${styles.length}">${styles.join("")}</cellXfs>` +
    `<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
  );
}

function font(marks: string, colour: string): string {
  return `<font>${marks}<sz val="11"/><color rgb="${colour}"/><name val="Calibri"/><family val="2"/></font>`;
}
