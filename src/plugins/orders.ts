import type { PgResource, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { orderSpec } from "./cursors.ts";
import { missingKey } from "./defaultOrder.ts";
import type { OrderColumn } from "./defaultOrder.ts";

type Builder = Pick<PgSelectQueryBuilder, "orderBy" | "setOrderIsUnique">;
type ApplyOrder = (builder: PgSelectQueryBuilder, ...rest: unknown[]) => void;

/** The columns by which a select is ordered, as far as they came through here. */
const ordered = new WeakMap<Builder, OrderColumn[]>();

/** Adds columns to the order of a select, be it still in the making or about to run. */
export function addOrder(builder: Builder, columns: readonly OrderColumn[]): void {
  const known = ordered.get(builder) ?? [];
  ordered.set(builder, [...known, ...columns]);
  for (const column of columns) builder.orderBy(orderSpec(column));
}

/** Gives a select that has no order the default one, makes any unique, and returns its columns. */
export function completeOrder(
  builder: Builder,
  resource: PgResource,
  fallback: readonly OrderColumn[],
): readonly OrderColumn[] {
  if (!ordered.has(builder)) addOrder(builder, fallback);
  addOrder(builder, missingKey(resource, ordered.get(builder) ?? []));
  builder.setOrderIsUnique();
  return ordered.get(builder) ?? [];
}

/**
 * A value of an enumeration of orders, put right. The stock ones call an order unique when their column merely begins a
 * unique key, and the cursors of such an order would pass over rows.
 */
export function recordedOrder(apply: ApplyOrder): ApplyOrder {
  return (builder, ...rest) => {
    const recorder = Object.create(builder) as PgSelectQueryBuilder;
    recorder.orderBy = (spec) => {
      const { attribute, direction } = typeof spec === "object" ? spec : {};
      if (attribute !== undefined && direction) addOrder(builder, [{ attribute, direction }]);
      else builder.orderBy(spec);
    };
    recorder.setOrderIsUnique = () => {
      // What is not known to be unique gets the primary key, here or from the select itself.
    };
    apply(recorder, ...rest);
  };
}
