import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { checkGroups } from "../paging/groupArguments.ts";
import { type TableKey, groupKey } from "../schema/groupKeys.ts";
import { checkOffset } from "../paging/pageArguments.ts";
import type { BindNth } from "../query/bind.ts";
import type { Shaped } from "./pagePart.ts";
import { UnsupportedSelection, assertOnly } from "./selection.ts";

/** Groups of rows: their keys, and which groups in the order of their keys. */
export interface AskedGroups {
  keys: readonly TableKey[];
  limit: (bind: BindNth) => SQL;
}

/** Resolves the arguments of `groupedAggregates`. @throws Error where the request is wrong or Grafast has to answer */
export function groupsPart(
  resource: PgResource,
  args: Record<string, unknown>,
): Shaped & { groups: AskedGroups } {
  const { groupBy, first, offset, ...rest } = args;
  assertOnly(rest);
  // Coercion has checked the types.
  const names = groupBy as readonly string[];
  const size = checkGroups(names, first as number | null);
  const skipped = checkOffset(offset as number | null);
  const keys = names.map((name) => {
    const key = groupKey(resource, name);
    if (!key) throw new UnsupportedSelection(name);
    return key;
  });
  return {
    shape: names.join(" "),
    values: [size, skipped ?? 0],
    isLasting: true,
    groups: {
      keys,
      limit: (bind) => sql`limit ${bind(0)}::integer offset ${bind(1)}::integer`,
    },
  };
}
