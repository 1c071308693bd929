import { createHmac } from "node:crypto";
import type { Pool } from "pg";
import { z } from "zod";
import type { SearchEngine, SearchEngineKey } from "../gateways/search.ts";
import type { SearchSettings } from "../settings/search.ts";

/** A search-only engine key for a set of collections. */
export interface ParentKey {
  value: string;
  /** Identifies the key among the engine's keys. */
  description: string;
}

/** The inputs of key derivation: the engine's admin key, and a prefix per deployment that shares the engine. */
export interface KeySource {
  apiKey: string;
  prefix: string;
}

export function keySource({
  apiKey = "",
  prefix,
}: Pick<SearchSettings, "apiKey" | "prefix">): KeySource {
  return { apiKey, prefix };
}

/** A fingerprint of an admin key, which does not reveal it. */
export function keyFingerprint(apiKey: string): string {
  return createHmac("sha256", apiKey).update("back-office mark").digest("hex").slice(0, 12);
}

/**
 * Derives the search-only key for a set of collections. All processes with the same admin key derive the same value, so
 * it is not stored.
 */
export function deriveParentKey(
  { apiKey, prefix }: KeySource,
  tenant: string,
  generation: number,
  collections: readonly string[],
): ParentKey {
  const what = JSON.stringify(["search", prefix + tenant, generation, collections]);
  return {
    value: createHmac("sha256", apiKey).update(what).digest("base64url"),
    description: `back-office ${keyFingerprint(apiKey)} ${what}`,
  };
}

const descriptionPattern = /^back-office ([0-9a-f]{12}) (.*)$/;
const described = z.tuple([z.literal("search"), z.string(), z.int(), z.array(z.string())]);

/** Selects the engine's keys that were derived for a tenant, from any admin key. */
export function selectTenantKeys(
  keys: readonly SearchEngineKey[],
  { prefix }: KeySource,
  tenant: string,
): { id: string; mark: string; generation: number; collections: string[] }[] {
  return keys.flatMap(({ id, description }) => {
    const [, mark, what] = descriptionPattern.exec(description) ?? [];
    if (mark === undefined || what === undefined) return [];
    const parsed = described.safeParse(parseJson(what));
    if (!parsed.success) return [];
    const [, owner, generation, collections] = parsed.data;
    return owner === prefix + tenant ? [{ id, mark, generation, collections }] : [];
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the search-only key for a set of collections of a tenant. */
export type FindParentKey = (tenant: string, collections: readonly string[]) => Promise<string>;

/**
 * Derives keys and registers new ones with the engine. The database records registered keys, so each set needs the
 * engine once. `pool` connects as `office_server`.
 */
export function makeParentKeys(pool: Pool, engine: SearchEngine, source: KeySource): FindParentKey {
  const mark = keyFingerprint(source.apiKey);
  return async (tenant, collections) => {
    const sorted = [...collections].sort();
    const { rows } = await pool.query<{ generation: number; is_known: boolean }>(
      `select * from "${tenant}".search_parent_key($1, $2)`,
      [sorted, mark],
    );
    const { generation = 0, is_known: known = false } = rows[0] ?? {};
    const key = deriveParentKey(source, tenant, generation, sorted);
    if (!known) {
      const id = await engine.makeKey({ ...key, collections: sorted.map(requireLiteralName) });
      await pool.query(`select "${tenant}".record_search_key($1, $2, $3, $4)`, [
        mark,
        generation,
        sorted,
        id,
      ]);
    }
    return key.value;
  };
}

/** The engine reads collection names in keys as patterns, so other characters are rejected. */
function requireLiteralName(name: string): string {
  if (!/^[a-z0-9_]+$/.test(name)) throw new Error(`"${name}" is not the name of a collection`);
  return name;
}
