import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { PreludeStatement } from "./PipelinedQuery.ts";

/** Settings that hold for one transaction, by name. Names are the server's own. */
export type Settings = Readonly<Record<string, string>>;

/** A call that goes ahead of the settings in the same statement. */
interface Call {
  text: string;
  values: PreludeStatement["values"];
}

// As many as there are sets of names: with a trace and without one, for each kind of token.
const nameOf = new LRUCache<string, string>({ max: 100 });

/**
 * A statement that makes settings for the transaction, in their order, after a call whose parameters come first. It stays prepared
 * where `prepared` is not 0.
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
