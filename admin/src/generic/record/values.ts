import type { EntityField } from "../../meta/catalogue.ts";
import { textOf } from "../../meta/format.ts";
import { type Row, listedRows } from "../../meta/rows.ts";
import { withDecimalPoint } from "../../text/locale.ts";

/** What an editor holds: text for most kinds, a truth value for switches. Empty text is null. */
export type FormValue = string | boolean;
export type FormValues = Record<string, FormValue>;

/** A point in time as `<input type="datetime-local">` takes it: local, to the second. */
function toLocalTime(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** A time of day as `<input type="time">` takes it: to the second. */
const toSeconds = (text: string): string => text.slice(0, "00:00:00".length);

/** The value of `field` as its editor shows it. */
export function toFormValue(field: EntityField, value: unknown): FormValue {
  if (field.kind === "BOOLEAN" && !field.isNullable) return value === true;
  if (value === null || value === undefined) return "";
  // A reference as the history shows it.
  if (field.kind === "REFERENCE" && typeof value === "object" && "id" in value)
    return textOf(value.id);
  if (field.kind === "TIME") return toLocalTime(textOf(value));
  if (field.kind === "CLOCK") return toSeconds(textOf(value));
  if (field.kind === "JSON") return JSON.stringify(value, null, 2);
  if (field.isList && Array.isArray(value)) return value.map(textOf).join("\n");
  return textOf(value);
}

export function toFormValues(fields: readonly EntityField[], row: Row): FormValues {
  const valueOf = (field: EntityField) =>
    field.kind === "REFERENCE" && field.isList
      ? listedRows(field, row).map(({ key }) => key)
      : row[field.name];
  return Object.fromEntries(
    fields.map((field) => [field.name, toFormValue(field, valueOf(field))]),
  );
}

/** What the form of a new row starts with: the defaults of the table. */
export function defaultValues(fields: readonly EntityField[]): FormValues {
  return Object.fromEntries(
    fields.map((field) => {
      const { kind, defaultValue } = field;
      return [
        field.name,
        toFormValue(field, kind === "BOOLEAN" ? defaultValue === "true" : defaultValue),
      ];
    }),
  );
}

/** A text that the kind of its field does not allow. */
export class ValueError extends Error {}

/** The value that a mutation takes. @throws ValueError in words for the person who typed it. */
export function toInputValue(field: EntityField, value: FormValue): unknown {
  if (typeof value === "boolean") return value;
  const text = value;
  if (field.isList) {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.map((line) => toInputValue({ ...field, isList: false }, line));
  }
  if (text === "") return null;
  switch (field.kind) {
    case "INTEGER":
      if (!/^\s*[-+]?\d+\s*$/.test(text)) throw new ValueError("A whole number, such as 12");
      if (!Number.isSafeInteger(Number(text)))
        throw new ValueError(
          `A whole number between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`,
        );
      return Number(text);
    case "FLOAT": {
      const number = withDecimalPoint(text);
      if (number.trim() === "" || !Number.isFinite(Number(number)))
        throw new ValueError("A number, such as 12.5");
      return Number(number);
    }
    case "DECIMAL": {
      const decimal = withDecimalPoint(text).trim();
      if (!/^[-+]?\d+(\.\d+)?$/.test(decimal))
        throw new ValueError("A decimal number, such as 12.50");
      return decimal;
    }
    case "BOOLEAN":
      return text === "true";
    case "TIME": {
      const time = new Date(text);
      if (Number.isNaN(time.getTime())) throw new ValueError("A date and a time");
      return time.toISOString();
    }
    case "JSON":
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new ValueError(`No JSON: ${error instanceof Error ? error.message : String(error)}`);
      }
    default:
      return text;
  }
}

/** Names of the fields whose value differs from that of `base`. */
export function dirtyNames(
  fields: readonly EntityField[],
  base: FormValues,
  values: FormValues,
): string[] {
  return fields.map(({ name }) => name).filter((name) => values[name] !== base[name]);
}
