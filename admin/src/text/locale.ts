/** Formats dates and numbers in the user's locale and time zone. The texts of the console are English. */
interface Formats {
  locale: string;
  timeZone: string;
  date: Intl.DateTimeFormat;
  time: Intl.DateTimeFormat;
  dateInFull: Intl.DateTimeFormat;
  timeInFull: Intl.DateTimeFormat;
  hour: Intl.DateTimeFormat;
  number: Intl.NumberFormat;
  /** Number formats by the number of decimal places. */
  decimals: Map<number, Intl.NumberFormat>;
}

let formats = formatsOf("en-GB", browserTimeZone());

/** @param timeZone the browser's is used instead where the browser does not know it */
export function setLocale(locale: string, timeZone: string): void {
  if (locale === formats.locale && timeZone === formats.timeZone) return;
  formats = formatsOf(locale, isKnown(timeZone) ? timeZone : browserTimeZone());
}

/** The time zone of the times that the console shows. */
export const shownTimeZone = (): string => formats.timeZone;

/** The time zone of the times that the console shows, where the clock of the browser has another one; otherwise null. */
export function foreignTimeZone(): string | null {
  return formats.timeZone === browserTimeZone() ? null : formats.timeZone;
}

function browserTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function isKnown(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone });
    return true;
  } catch {
    return false;
  }
}

function formatsOf(locale: string, timeZone: string): Formats {
  return {
    locale,
    timeZone,
    date: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" }),
    time: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short", timeZone }),
    dateInFull: new Intl.DateTimeFormat(locale, { dateStyle: "full", timeZone: "UTC" }),
    timeInFull: new Intl.DateTimeFormat(locale, {
      dateStyle: "full",
      timeStyle: "short",
      timeZone,
    }),
    hour: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", hourCycle: "h23", timeZone }),
    number: new Intl.NumberFormat(locale),
    decimals: new Map(),
  };
}

export function formatDate(text: string): string {
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? text : formats.date.format(date);
}

export function formatTime(text: string): string {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? text : formats.time.format(date);
}

/** Formats a date with its weekday, and the month as a word. */
export const formatDateInFull = (date: Date): string => formats.dateInFull.format(date);

/** Formats a moment with its weekday, the month as a word, and the time. */
export const formatTimeInFull = (date: Date): string => formats.timeInFull.format(date);

/** The hour of the day, 0 to 23. */
export function hourNow(): number {
  return Number(formats.hour.format());
}

export function formatNumber(value: number): string {
  return formats.number.format(value);
}

/** Formats a decimal as text: with thousands separators, all digits, and at least `least` decimal places. */
export function formatDecimal(text: string, least = 0): string {
  const match = /^-?\d+(?:\.(\d+))?$/.exec(text);
  if (!match) return text;
  const digits = Math.max(match[1]?.length ?? 0, least);
  let format = formats.decimals.get(digits);
  if (!format) {
    format = new Intl.NumberFormat(formats.locale, {
      minimumFractionDigits: digits,
      maximumFractionDigits: digits,
    });
    formats.decimals.set(digits, format);
  }
  // Passed as a string, because a JavaScript number would lose digits.
  return format.format(text as Intl.StringNumericLiteral);
}

const decimalSeparator = (): string =>
  formats.number.formatToParts(0.5).find(({ type }) => type === "decimal")?.value ?? ".";

/** Writes a number for an editor: with the decimal separator of the locale, without thousands separators. */
export function withLocalSeparator(text: string): string {
  return text.replace(".", decimalSeparator());
}

/**
 * Converts a typed number from the separators of the locale to a decimal point: `1.234,50` in Danish, `1,234.50` in English.
 * Other texts stay as they are, and are rejected later.
 */
export function withDecimalPoint(text: string): string {
  const typed = text.trim();
  if (decimalSeparator() === ",") {
    const [, whole, decimals] = /^([^,]*),(\d*)$/.exec(typed) ?? [];
    if (whole === undefined) return text;
    const plain = /^-?[1-9]\d{0,2}(?:[.\s]\d{3})+$/.test(whole)
      ? whole.replaceAll(/[.\s]/g, "")
      : whole;
    return plain.includes(".") ? text : `${plain}.${decimals}`;
  }
  // A comma alone may be a decimal comma: `0,750`.
  return /^-?[1-9]\d{0,2}(?:,\d{3})+\.\d+$/.test(typed) ? typed.replaceAll(",", "") : text;
}

const listFormat = new Intl.ListFormat("en-GB");

/** Joins texts as "Amount and Currency". */
export function formatList(texts: readonly string[]): string {
  return listFormat.format(texts);
}
