import { createHmac } from "node:crypto";
import type { Pool } from "pg";
import type { SearchEngine } from "../gateways/search.ts";

/** A search-only key of the engine, for a set of collections. */
export interface ParentKey {
  value: string;
  /** Tells it from all other keys of the engine. */
  description: string;
}

/** Tells keys that are computed from another administration key apart; says nothing of either. */
export function markOf(apiKey: string): string {
  return createHmac("sha256", apiKey).update("back-office mark").digest("hex").slice(0, 12);
}

/**
 * The search-only key for a set of collections, computed: every process that has the administration key arrives at the same one,
 * and nobody needs to keep it.
 */
export function parentKeyOf(
  apiKey: string,
  area: string,
  generation: number,
  collections: readonly string[],
): ParentKey {
  const what = JSON.stringify(["search", area, generation, collections]);
  return {
    value: createHmac("sha256", apiKey).update(what).digest("base64url"),
    description: `back-office ${markOf(apiKey)} ${what}`,
  };
}

/** Gives the search-only key for a set of collections of an area. */
export type FindParentKey = (area: string, collections: readonly string[]) => Promise<string>;

/**
 * Computes keys, and has the engine make those that it does not know yet; whether it does, the database knows. So the engine is
 * asked once for each set of collections, and may be away afterwards. `pool` acts as `office_server`.
 */
export function makeParentKeys(pool: Pool, engine: SearchEngine, apiKey: string): FindParentKey {
  const mark = markOf(apiKey);
  return async (area, collections) => {
    const sorted = [...collections].sort();
    const { rows } = await pool.query<{ generation: number; is_known: boolean }>(
      `select * from "${area}".search_parent_key($1, $2)`,
      [sorted, mark],
    );
    const { generation = 0, is_known: known = false } = rows[0] ?? {};
    const key = parentKeyOf(apiKey, area, generation, sorted);
    if (!known) {
      const id = await engine.makeKey({ ...key, collections: sorted.map(literally) });
      await pool.query(`select "${area}".record_search_key($1, $2, $3, $4)`, [
        mark,
        generation,
        sorted,
        id,
      ]);
    }
    return key.value;
  };
}

/** A collection's name as the engine's keys take it, which is as a pattern: names hold nothing else than such characters. */
function literally(name: string): string {
  if (!/^[a-z0-9_]+$/.test(name)) throw new Error(`"${name}" is not the name of a collection`);
  return name;
}
