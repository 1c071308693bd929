import { z } from "zod";

/** The processes that read settings, beside commands of operators. */
export type SettingReader = "server" | "worker" | "migration" | "npm start";

/** One environment variable: how it is parsed, its default, and what it means. */
export interface Setting {
  schema: z.ZodType<unknown, string>;
  fallback: string | undefined;
  /** One sentence without a full stop; names the unit. */
  meaning: string;
  /** The rule for the default, where `fallback` is undefined. */
  defaultNote?: string;
  /** A value for .env.example. */
  example?: string;
  /** Overrides the readers of the setting's group. */
  usedBy?: readonly SettingReader[];
}

/** Settings that belong together, as docs/settings.md shows them. */
export interface SettingGroup {
  title: string;
  usedBy: readonly SettingReader[];
  settings: Readonly<Record<string, Setting>>;
}

/** The parsed value of a setting; undefined only where it has no default. */
export type SettingValue<S extends Setting> =
  z.output<S["schema"]> | (S["fallback"] extends string ? never : undefined);

/** Reads one of the settings in `Table`. */
export type GetSetting<Table extends Record<string, Setting>> = <K extends keyof Table & string>(
  key: K,
) => SettingValue<Table[K]>;

/** The processes whose required settings are checked at the start. */
export type ProcessRole = "server" | "worker";

/** A setting that a process requires in production, where no emulator runs. */
export interface Need {
  name: string;
  role: ProcessRole;
  isSet: boolean;
  /** Follows "is required in production". */
  purpose: string;
}

export const flag = z
  .enum(["true", "false"], { error: "must be true or false" })
  .transform((v) => v === "true");
export const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, "must be a whole number")
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be from ${min} to ${max}`);
function hasDecodableLogin(address: string): boolean {
  if (!URL.canParse(address)) return true;
  const { username, password } = new URL(address);
  try {
    decodeURIComponent(username);
    decodeURIComponent(password);
    return true;
  } catch {
    return false;
  }
}

export const postgresUrl = z
  .string()
  // An address that cannot be parsed would appear in a later error, with its password.
  .refine(
    (value) => /^postgres(ql)?:\/\/[^\s]+$/.test(value) && URL.canParse(value),
    "must be a postgres:// address",
  )
  .refine(hasDecodableLogin, "has a name or password with a % that is not written %25");
export const httpUrl = z.url({ protocol: /^https?$/, error: "must be an http(s) address" });
/** An http(s) address that paths are added to: without slashes at its end. */
export const baseUrl = httpUrl.transform((address) => address.replace(/\/+$/, ""));
/** Items separated by commas. */
export const list = z.string().transform((v) =>
  v
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean),
);
