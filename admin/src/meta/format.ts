import { en } from "../text/en.ts";
import { formatDate, formatDecimal, formatTime } from "../text/locale.ts";
import type { EntityField } from "./entities.ts";

const relativeFormat = new Intl.RelativeTimeFormat("en-GB", { numeric: "auto" });

/** Years and identifying numbers have no thousands separators. */
const plainNumber = /(^|[a-z])(year|vintage|number|position|id)$/i;

const steps: readonly [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 1, "second"],
  [3_600, 60, "minute"],
  [86_400, 3_600, "hour"],
  [604_800, 86_400, "day"],
];

/** Formats a time as "2 hours ago" within a week, otherwise as a date. */
export function formatAgo(text: string, now: number = Date.now()): string {
  const seconds = (now - new Date(text).getTime()) / 1_000;
  if (Number.isNaN(seconds)) return text;
  for (const [limit, size, unit] of steps)
    if (Math.abs(seconds) < limit) return relativeFormat.format(-Math.round(seconds / size), unit);
  return formatDate(text);
}

/** Formats a value of `field` as one line of text. */
export function formatValue(field: EntityField, value: unknown): string {
  if (value === null || value === undefined || value === "") return en.none;
  if (Array.isArray(value)) return value.map((item) => formatValue(field, item)).join(", ");
  switch (field.kind) {
    case "BOOLEAN":
      return value === true ? en.yes : en.no;
    case "INTEGER":
      return plainNumber.test(field.name) ? textOf(value) : formatDecimal(textOf(value));
    case "DECIMAL":
      // Histories have JSON numbers, which lack the trailing zeros of an amount.
      return formatDecimal(textOf(value), field.decimals ?? (field.widget === "money" ? 2 : 0));
    case "FLOAT":
      return field.widget === "money" ? formatDecimal(textOf(value), 2) : textOf(value);
    case "DATE":
      return formatDate(textOf(value));
    case "TIME":
      return formatTime(textOf(value));
    case "CLOCK":
      return textOf(value)
        .replace(/\.0+$/, "")
        .replace(/^(\d\d:\d\d):00$/, "$1");
    case "ENUM":
      return field.values.find((item) => item.value === value)?.title ?? textOf(value);
    default:
      return textOf(value);
  }
}

/** The unit of a field's value, or the currency in the same row or form; null without either. */
export function unitOf(
  { name, unit, unitOne, currencyField }: EntityField,
  row: Readonly<Record<string, unknown>>,
  value = row[name],
): string | null {
  return (
    (textOf(value) === "1" ? unitOne : unit) ??
    (currencyField === null ? null : textOf(row[currencyField]) || null)
  );
}

/** Formats a value with its unit, such as "750 ml". Without the row, an amount has no currency. */
export function formatWithUnit(
  field: EntityField,
  value: unknown,
  row: Readonly<Record<string, unknown>> = {},
): string {
  const text = formatValue(field, value);
  const unit = unitOf(field, row, value);
  return unit === null || text === en.none ? text : `${text} ${unit}`;
}

export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(value);
}
