import { z } from "zod";
import { JsonNumber, plainDecimal } from "./json.ts";

// JSON forms of Business Central's documented types. A missing property counts as empty.

const noId = "00000000-0000-0000-0000-000000000000";
const dayMessage = "must be a date such as 2026-01-31";
const noDate = "0001-01-01";

/** Whether PostgreSQL can store the text. */
const isStorable = (value: string) => !value.includes("\0") && value.isWellFormed();
const notStorable = "contains invalid characters";

/** A trimmed string; null when blank. Rejects what PostgreSQL cannot store. */
export const text = z
  .string({ error: "must be a string" })
  .max(100_000, "is too long")
  .refine(isStorable, notStorable)
  .nullish()
  .transform((value) => value?.trim() || null);

/** A required number or code of a record. */
export const name = text.refine((value) => value !== null, "must not be empty").pipe(z.string());

const guidText = z
  .string({ error: "must be an id" })
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, "must be an id")
  .transform((value) => value.toLowerCase());

/** The id of the record itself. */
export const guid = guidText.refine((value) => value !== noId, "must not be empty");

/** The id of another record; the zero GUID means none. */
export const reference = guidText
  .nullish()
  .transform((value) => (value === noId ? null : (value ?? null)));

/** A decimal in plain notation. */
export const decimal = z
  .union([z.instanceof(JsonNumber).transform(({ source }) => source), z.string()], {
    error: "must be a number",
  })
  .nullish()
  .transform((source, context) => {
    if (source == null) return null;
    const plain = plainDecimal(source.trim());
    if (plain !== null) return plain;
    context.addIssue({ code: "custom", message: "must be a number of 40 digits at most" });
    return z.NEVER;
  });

/** An integer within the range of PostgreSQL's integer. */
export const integer = z
  .instanceof(JsonNumber, { error: "must be a whole number" })
  .transform(({ source }, context) => {
    const value = Number(source);
    if (Number.isInteger(value) && Math.abs(value) <= 2_147_483_647) return value;
    context.addIssue({ code: "custom", message: "must be a whole number" });
    return z.NEVER;
  });

/** A date; the year 1 means none. */
export const day = z
  .string({ error: dayMessage })
  .refine((value) => value === "" || z.iso.date().safeParse(value).success, dayMessage)
  .nullish()
  .transform((value) => (value === "" || value === noDate ? null : (value ?? null)));

const instantMessage = "must be a time such as 2026-01-31T12:00:00Z";

/** A time, in UTC: times of one form are compared as text, and PostgreSQL takes no offset beyond 16 hours. */
export const instant = z.iso
  .datetime({ offset: true, error: instantMessage })
  .refine((value) => isFourDigitYear(new Date(value).getUTCFullYear()), instantMessage)
  .transform((value) => new Date(value).toISOString());

const isFourDigitYear = (year: number) => year >= 1 && year <= 9999;

export const flag = z
  .boolean({ error: "must be true or false" })
  .nullish()
  .transform((value) => value ?? false);

/**
 * An option of Business Central; characters other than letters and digits are encoded as `_x0020_` (opportunity's
 * documents).
 */
export const option = z
  .string({ error: "must be a string" })
  .max(200, "is too long")
  .transform((value) =>
    value
      .replace(/_x([0-9a-f]{4})_/gi, (_all, code: string) =>
        String.fromCharCode(Number.parseInt(code, 16)),
      )
      .trim(),
  )
  .refine(isStorable, notStorable);
