import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { PreludeStatement } from "./PipelinedQuery.ts";

/** Transaction-local settings by name; names come from the server only. */
export type Settings = Readonly<Record<string, string>>;

/** A function call before the settings, in the same statement. */
interface Call {
  text: string;
  values: PreludeStatement["values"];
}

// One entry per set of names: with and without a trace, for each kind of token.
const nameOf = new LRUCache<string, string>({ max: 100 });

/**
 * A statement that calls a function, if given, and then sets transaction-local settings in order. It is prepared unless
 * `prepared` is 0.
 */
export function setLocalStatement(
  settings: Settings,
  call: Call | null,
  prepared: number,
): PreludeStatement {
  const given = call?.values ?? [];
  const calls = Object.keys(settings).map(
    (name, index) => `set_config('${name}', $${given.length + index + 1}, true)`,
  );
  const text = `select ${[...(call ? [call.text] : []), ...calls].join(", ")}`;
  const values = [...given, ...Object.values(settings)];
  if (prepared === 0) return { text, values };
  let name = nameOf.get(text);
  if (name === undefined) nameOf.set(text, (name = `office_${hash("sha1", text, "base64url")}`));
  return { text, name, values };
}
