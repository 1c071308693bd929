import type { EntityField } from "../../meta/entities.ts";
import { textOf } from "../../meta/format.ts";
import { type Row, listedRows } from "../../meta/rows.ts";
import { withDecimalPoint } from "../../text/locale.ts";

/** The value in an editor: a boolean for switches, otherwise a text. An empty text means null. */
export type FormValue = string | boolean;
export type FormValues = Record<string, FormValue>;

/** Formats a timestamp for `<input type="datetime-local">`: local time with seconds. */
function toLocalTime(text: string): string {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** Formats a time of day for `<input type="time">`, with seconds. */
const toSeconds = (text: string): string => text.slice(0, "00:00:00".length);

/** Converts a value of `field` for its editor. */
export function toFormValue(field: EntityField, value: unknown): FormValue {
  if (field.kind === "BOOLEAN" && !field.isNullable) return value === true;
  if (value === null || value === undefined) return "";
  // A reference from the history, which is an object.
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

/** The initial values of a new row's form: the table's defaults. */
export function defaultValues(fields: readonly EntityField[]): FormValues {
  return Object.fromEntries(
    fields.map((field) => {
      const { kind, isNullable, defaultValue } = field;
      // An optional boolean without a default has no value yet; it is neither yes nor no.
      const isSwitch = kind === "BOOLEAN" && !isNullable;
      return [field.name, toFormValue(field, isSwitch ? defaultValue === "true" : defaultValue)];
    }),
  );
}

/** The text is invalid for the kind of its field. */
export class ValueError extends Error {}

/** Converts an editor's value for a mutation. @throws ValueError with a message for the user */
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
        throw new ValueError(
          `This is not valid JSON: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    default:
      return text;
  }
}

/** The names of the fields whose values differ from `base`. */
export function dirtyNames(
  fields: readonly EntityField[],
  base: FormValues,
  values: FormValues,
): string[] {
  return fields.map(({ name }) => name).filter((name) => values[name] !== base[name]);
}
