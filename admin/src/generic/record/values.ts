import { fromAbsolute, parseDateTime, toCalendarDateTime } from "@internationalized/date";
import type { Entities, EntityField } from "../../meta/entities.ts";
import { textOf } from "../../meta/format.ts";
import { type Row, listedRows } from "../../meta/rows.ts";
import { enRecord } from "../../text/enRecord.ts";
import {
  formatDateInFull,
  formatDecimal,
  formatNumber,
  formatTimeInFull,
  shownTimeZone,
  withDecimalPoint,
  withLocalSeparator,
} from "../../text/locale.ts";

/** The value in an editor: a boolean for switches, otherwise a text. An empty text means null. */
export type FormValue = string | boolean;
export type FormValues = Record<string, FormValue>;

/** Formats a timestamp for `<input type="datetime-local">`, in the time zone of all times of the console. */
function toLocalTime(text: string): string {
  const milliseconds = new Date(text).getTime();
  if (Number.isNaN(milliseconds)) return "";
  const local = toCalendarDateTime(fromAbsolute(milliseconds, shownTimeZone())).toString();
  return withoutZeroSeconds(local.slice(0, "2026-01-31T00:00:00".length));
}

/** The opposite of {@link toLocalTime}. @throws ValueError when the text is no date with a time */
function fromLocalTime(text: string): string {
  try {
    return parseDateTime(text).toDate(shownTimeZone()).toISOString();
  } catch {
    throw new ValueError(enRecord.dateAndTime);
  }
}

/** Formats a time of day for `<input type="time">`. */
const toClock = (text: string): string => withoutZeroSeconds(text.slice(0, "00:00:00".length));

/** Omits seconds that are zero, as people write times, and as browsers do in values of inputs. */
const withoutZeroSeconds = (text: string): string => text.replace(/(\d\d:\d\d):00$/, "$1");

/** Whether a value of a time has seconds, which its editor then shows. */
export const hasSeconds = (text: string): boolean => /\d\d:\d\d:\d\d$/.test(text);

const isFraction = ({ kind }: EntityField): boolean => kind === "DECIMAL" || kind === "FLOAT";

/** Converts a value of `field` for its editor. */
export function toFormValue(field: EntityField, value: unknown): FormValue {
  if (field.kind === "BOOLEAN" && !field.isNullable) return value === true;
  if (value === null || value === undefined) return "";
  // A reference from the history, which is an object.
  if (field.kind === "REFERENCE" && typeof value === "object" && "id" in value)
    return textOf(value.id);
  if (field.kind === "TIME") return toLocalTime(textOf(value));
  if (field.kind === "CLOCK") return toClock(textOf(value));
  if (isFraction(field) && !field.isList) return withLocalSeparator(textOf(value));
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
      const { kind, isList, isNullable, defaultValue } = field;
      // An optional boolean without a default has no value yet; it is neither yes nor no.
      const isSwitch = kind === "BOOLEAN" && !isNullable;
      if (isSwitch) return [field.name, toFormValue(field, defaultValue === "true")];
      const isJson = kind === "JSON" && !isList && defaultValue !== null;
      return [field.name, toFormValue(field, isJson ? JSON.parse(defaultValue) : defaultValue)];
    }),
  );
}

/** The caller, as value of the fields that need a user, where the caller may not read other users. */
export function ownUserValues(entities: Entities, fields: readonly EntityField[]): FormValues {
  const { me, profile } = entities.metadata;
  if (profile === null || entities.get(profile.name)) return {};
  const own = fields.filter(
    ({ onCreate, reference }) => onCreate === "REQUIRED" && reference?.entity === profile.name,
  );
  return Object.fromEntries(own.map(({ name }) => [name, me.user.id]));
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
      return toInteger(field, text);
    case "FLOAT": {
      const number = withDecimalPoint(text);
      if (number.trim() === "" || !Number.isFinite(Number(number)))
        throw new ValueError(enRecord.number);
      return Number(number);
    }
    case "DECIMAL":
      return toDecimal(field, text);
    case "BOOLEAN":
      if (text !== "true" && text !== "false") throw new ValueError(enRecord.yesOrNo);
      return text === "true";
    case "ENUM":
      if (!field.values.some((item) => item.value === text))
        throw new ValueError(enRecord.oneOf(field.values.map(({ title }) => title)));
      return text;
    case "DATE":
      if (!isCalendarDate(text)) throw new ValueError(enRecord.date);
      return text;
    case "REFERENCE":
      if (!isRowKey(field, text)) throw new ValueError(enRecord.notAnId(text));
      return text;
    case "CLOCK":
      if (!/^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/.test(text))
        throw new ValueError(enRecord.timeOfDay);
      return text;
    case "TIME":
      return fromLocalTime(text);
    case "JSON":
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new ValueError(
          enRecord.invalidJson(error instanceof Error ? error.message : String(error)),
        );
      }
    default:
      checkText(field, text);
      return text;
  }
}

/** Adds an editor's value to the input of a mutation, or the message about a wrong one to `found`. */
export function addInputValue(
  field: EntityField,
  value: FormValue,
  input: Record<string, unknown>,
  found: Record<string, string>,
): void {
  try {
    input[field.name] = toInputValue(field, value);
  } catch (error) {
    if (!(error instanceof ValueError)) throw error;
    found[field.name] = error.message;
  }
}

/** Whether a text can be the key of a row, such as a UUID or a number; an address can hold any text. */
export function isRowKey({ reference }: EntityField, text: string): boolean {
  return (
    reference?.keyField !== "id" ||
    /^(\d{1,19}|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})$/i.test(text)
  );
}

function toInteger({ minimum, maximum }: EntityField, text: string): number {
  if (!/^\s*[-+]?\d+\s*$/.test(text)) throw new ValueError(enRecord.wholeNumber);
  const value = BigInt(text.trim().replace(/^\+/, ""));
  const [least, most] = [
    BigInt(minimum ?? Number.MIN_SAFE_INTEGER),
    BigInt(maximum ?? Number.MAX_SAFE_INTEGER),
  ];
  if (value < least || value > most || !Number.isSafeInteger(Number(value)))
    // A JavaScript number holds fewer digits than a bigint of the database.
    throw new ValueError(
      enRecord.wholeNumberBetween(
        formatNumber(Math.max(Number(least), Number.MIN_SAFE_INTEGER)),
        formatNumber(Math.min(Number(most), Number.MAX_SAFE_INTEGER)),
      ),
    );
  return Number(value);
}

function toDecimal({ minimum, maximum, decimals }: EntityField, text: string): string {
  const decimal = withDecimalPoint(text).trim();
  const [, whole, fraction = ""] = /^[-+]?(\d+)(?:\.(\d+))?$/.exec(decimal) ?? [];
  if (whole === undefined) throw new ValueError(enRecord.decimal);
  // Compares digits, because a JavaScript number would round them. Bounds of a decimal have all digits 9.
  const wholeDigits = (number: string) => number.replace(/\..*$/, "").replace(/^-?0*/, "").length;
  if (minimum !== null && maximum !== null && wholeDigits(whole) > wholeDigits(maximum))
    throw new ValueError(enRecord.numberBetween(formatDecimal(minimum), formatDecimal(maximum)));
  // The database would round further digits without a message.
  if (decimals !== null && fraction.replace(/0+$/, "").length > decimals)
    throw new ValueError(enRecord.decimals(decimals));
  return decimal;
}

function isCalendarDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function checkText({ maxLength, widget, kind }: EntityField, text: string): void {
  if (kind !== "TEXT") return;
  const { length } = Array.from(text);
  if (maxLength !== null && length > maxLength)
    throw new ValueError(enRecord.tooLong(maxLength, length));
  if (widget === "email" && !/^[^\s@]+@[^\s@]+$/.test(text.trim()))
    throw new ValueError(enRecord.email);
}

/** Formats a valid editor's value for an address, independent of the user's locale and time zone. */
export function toAddressText(field: EntityField, value: FormValue): string {
  const isConverted = field.kind === "TIME" || isFraction(field);
  return textOf(isConverted && !field.isList ? toInputValue(field, value) : value);
}

/** Parses a value in an address for its editor; the opposite of `toAddressText`. */
export function fromAddressText(field: EntityField, text: string): FormValue {
  if (field.kind === "BOOLEAN")
    // Another text is kept, so that its field says what would be right.
    return text === "true" || text === "false" ? toFormValue(field, text === "true") : text;
  if (field.kind === "TIME" || field.kind === "CLOCK") return toFormValue(field, text) || text;
  return field.kind === "JSON" || field.isList ? text : toFormValue(field, text);
}

/**
 * The date of an editor in words, in the user's locale; null for other values. Browsers write dates in inputs in their own
 * language, so that a Danish user of an English browser may read a month as a day.
 */
export function dateInWords(field: EntityField, value: FormValue): string | null {
  if (typeof value !== "string" || value === "" || field.isList) return null;
  const isDate = field.kind === "DATE";
  if (!isDate && field.kind !== "TIME") return null;
  try {
    const date = new Date(toInputValue(field, value) as string);
    return isDate ? formatDateInFull(date) : formatTimeInFull(date);
  } catch (error) {
    if (error instanceof ValueError) return null;
    throw error;
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
