import type { PgResource } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { checkGroups } from "../paging/groupArguments.ts";
import { type TableKey, groupKey } from "../schema/groupKeys.ts";
import { checkOffset } from "../paging/pageArguments.ts";
import type { BindNth } from "../query/bind.ts";
import type { Shaped } from "./pagePart.ts";
import { UnsupportedSelection, assertOnly } from "./selection.ts";

/** Groups of rows: by what, and which of them in the order of their keys. */
export interface AskedGroups {
  keys: readonly TableKey[];
  limit: (bind: BindNth) => SQL;
}

/** What the arguments of `groupedAggregates` come to. @throws Error for what is refused, or left to Grafast */
export function groupsPart(
  resource: PgResource,
  args: Record<string, unknown>,
): Shaped & { groups: AskedGroups } {
  const { groupBy, first, offset, ...rest } = args;
  assertOnly(rest);
  // Each is of the type that the schema has for it.
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
