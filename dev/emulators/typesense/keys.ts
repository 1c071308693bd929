import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { JsonObject } from "./problem.ts";
import { EngineProblem, isObject } from "./problem.ts";
import type { ApiKey, Store } from "./store.ts";

/** A requested action, and the key of the request. */
export interface Access {
  key: string;
  action: string;
  /** Empty if the action concerns no collection. */
  collection: string;
}

const farFuture = 64_723_363_199;
const searchAction = "documents:search";
const digestLength = 44;
const prefixLength = 4;

/** API keys and what they allow. */
export class Keys {
  readonly #adminKey: string;
  readonly #store: Store;
  readonly #keys = new Map<number, ApiKey>();

  constructor(adminKey: string, store: Store) {
    this.#adminKey = adminKey;
    this.#store = store;
    for (const key of store.keys()) this.#keys.set(key.id, key);
  }

  /** @throws EngineProblem naming the invalid property */
  create(given: JsonObject): ApiKey {
    const checked = checkKey(given);
    const values = [...this.#keys.values()].map(({ value }) => value);
    if (checked.value === this.#adminKey || values.includes(checked.value))
      throw new EngineProblem(409, "API key generation conflict.");
    const key = this.#store.addKey(checked);
    this.#keys.set(key.id, key);
    return key;
  }

  list(): JsonObject[] {
    return [...this.#keys.values()].map(withoutValue);
  }

  /** @throws EngineProblem when the id does not exist */
  get(id: string): JsonObject {
    return withoutValue(this.#find(id));
  }

  /** @throws EngineProblem when the id does not exist */
  remove(id: string): JsonObject {
    const key = this.#find(id);
    this.#store.dropKey(key.id);
    this.#keys.delete(key.id);
    return { id: key.id };
  }

  #find(id: string): ApiKey {
    const key = this.#keys.get(Number(id));
    if (!/^\d+$/.test(id) || key === undefined) throw new EngineProblem(404, "Not found.");
    return key;
  }

  /**
   * The search parameters that the key embeds, none for most keys. Null when the key does not allow the access.
   */
  admit(access: Access): JsonObject | null {
    if (access.key === "") return null;
    if (sameText(access.key, this.#adminKey)) return {};
    for (const key of this.#keys.values())
      if (sameText(access.key, key.value)) return allows(key, access) ? {} : null;
    return this.#admitScoped(access);
  }

  /**
   * A scoped key is the base64 of a digest of its parameters, a prefix of its parent, and the parameters. The
   * parent must allow only searches.
   */
  #admitScoped(access: Access): JsonObject | null {
    const text = Buffer.from(access.key, "base64").toString("utf8");
    const digest = text.slice(0, digestLength);
    const prefix = text.slice(digestLength, digestLength + prefixLength);
    const parameters = text.slice(digestLength + prefixLength);
    for (const parent of this.#keys.values()) {
      if (!parent.value.startsWith(prefix) || prefix.length < prefixLength) continue;
      const [only, ...others] = parent.actions;
      if (only !== searchAction || others.length > 0 || !allows(parent, access)) continue;
      const right = createHmac("sha256", parent.value).update(parameters).digest("base64");
      if (!sameText(digest, right)) continue;
      return readScope(parameters);
    }
    return null;
  }
}

function readScope(text: string): JsonObject | null {
  let scope: unknown;
  try {
    scope = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(scope)) return null;
  const { expires_at: end, ...parameters } = scope;
  if (end === undefined) return parameters;
  return isTimestamp(end) && end >= now() ? parameters : null;
}

function allows({ actions, collections, expires_at: end }: ApiKey, access: Access): boolean {
  if (end < now()) return false;
  const [resource] = access.action.split(":");
  const mayAct = actions.some(
    (action) => action === "*" || action === access.action || action === `${resource}:*`,
  );
  if (!mayAct) return false;
  if (access.collection === "") return true;
  return collections.some(
    (one) => one === "*" || one === access.collection || matchesWhole(one, access.collection),
  );
}

function matchesWhole(pattern: string, name: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`).test(name);
  } catch {
    return false;
  }
}

function checkKey(given: JsonObject): Omit<ApiKey, "id"> {
  for (const name of ["description", "actions", "collections"])
    if (given[name] === undefined)
      throw new EngineProblem(400, `Could not find a \`${name}\` key.`);
  const { value, description, expires_at: end = farFuture, autodelete = false } = given;
  if (value !== undefined && (typeof value !== "string" || value === ""))
    throw new EngineProblem(400, "Key value must be a string.");
  if (typeof description !== "string")
    throw new EngineProblem(400, "Key description must be a string.");
  if (!isTimestamp(end))
    throw new EngineProblem(
      400,
      "Wrong format for `expires_at`. It should be an unsigned integer.",
    );
  return {
    value: value ?? randomBytes(24).toString("base64url"),
    description,
    actions: textsOf(given, "actions"),
    collections: textsOf(given, "collections"),
    expires_at: end,
    autodelete: autodelete === true,
  };
}

function textsOf(given: JsonObject, name: string): string[] {
  const value = given[name];
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
    return value;
  throw new EngineProblem(400, `Wrong format for \`${name}\`. It should be an array of string.`);
}

function isTimestamp(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

function withoutValue({ value, ...key }: ApiKey): JsonObject {
  return { ...key, value_prefix: value.slice(0, prefixLength) };
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

const now = () => Math.floor(Date.now() / 1000);
