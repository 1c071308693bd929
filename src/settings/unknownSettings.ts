import { misspelt, nearest } from "../text/suggest.ts";

/** An environment variable that looks like a setting but is not one. */
export interface UnknownSetting {
  name: string;
  /** The setting whose name is most similar; null when none is. */
  nearest: string | null;
  /** Whether it is meant for this service: by a prefix that no other software has, or because it misspells a setting. */
  isOurs: boolean;
}

/** Prefixes of our settings that variables of other software have as well. */
const shared = new Set(
  ["AI", "ALLOWED", "COST", "DATABASE", "DATA", "ENABLE", "LOG", "MAIL", "MAX", "METRICS"]
    .concat(["PUBLIC", "QUEUE", "REQUESTS", "PRODUCT", "S3", "SESSION", "SMTP", "TRUSTED"])
    .concat(["TYPESENSE", "WORKER"])
    .map((word) => `${word}_`),
);

/** Variables that Node, OpenTelemetry, PostGraphile's libraries, desktops and Python read. */
const foreign = /^(?:NODE|OTEL|DATAPLAN)_|^(?:SESSION_MANAGER|REQUESTS_CA_BUNDLE)$/;

const prefixOf = (name: string) => /^[A-Z0-9]+_/.exec(name)?.[0];

/**
 * The variables of `environment` that are not among the settings `known`, and begin like one of them, or misspell one.
 * One that misspells a setting without the prefix of one, such as `LOGLEVEL`, may be another program's.
 */
export function findUnknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): UnknownSetting[] {
  const names = new Set(known);
  const prefixes = new Set(known.flatMap((name) => prefixOf(name) ?? []));
  return Object.keys(environment)
    .filter((name) => !names.has(name) && !foreign.test(name))
    .map((name) => ({ name, prefix: prefixOf(name) ?? "", meant: misspelt(name, known) }))
    .filter(({ prefix, meant }) => prefixes.has(prefix) || meant !== null)
    .map(({ name, prefix, meant }) => ({
      name,
      nearest: meant ?? nearest(name, known, 1)[0] ?? null,
      isOurs: prefixes.has(prefix) && (meant !== null || !shared.has(prefix)),
    }));
}
