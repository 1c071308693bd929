import { z } from "zod";

/** One environment variable: how it is read, what it is when it is not set, and what it means. */
export interface Setting {
  schema: z.ZodType<unknown, string>;
  fallback: string | undefined;
  meaning: string;
}

/** What a setting is once it is read; undefined only where it has no default. */
export type Value<S extends Setting> =
  z.output<S["schema"]> | (S["fallback"] extends string ? never : undefined);

/** Reads one of the settings in `Table`. */
export type Get<Table extends Record<string, Setting>> = <K extends keyof Table & string>(
  key: K,
) => Value<Table[K]>;

/** The processes that have settings of their own to ask for. */
export type ProcessRole = "server" | "worker";

/** What a process cannot do without in production, where nothing stands in for it. */
export interface Need {
  name: string;
  role: ProcessRole;
  given: boolean;
  /** What it is for; follows "is required in production". */
  purpose: string;
}

export const flag = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((v) => v === "true");
export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be from ${min} to ${max}`);
export const postgresUrl = z
  .string()
  // One that cannot be read would be printed by the error about it, password and all.
  .refine(
    (value) => /^postgres(ql)?:\/\/[^\s]+$/.test(value) && URL.canParse(value),
    "must be a postgres:// address",
  );
export const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http(s) address" });
/** Items separated by commas. */
export const list = z.string().transform((v) =>
  v
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean),
);
