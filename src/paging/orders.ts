import type { PgCodec, PgResource, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { orderSpec } from "./cursors.ts";
import { missingKeyColumns, orderColumn, withoutRepeats } from "./defaultOrder.ts";
import type { OrderColumn } from "./defaultOrder.ts";

type Builder = Pick<PgSelectQueryBuilder, "alias" | "orderBy" | "setOrderIsUnique">;
/** Applies a value of an orderBy enumeration to a select. */
export type ApplyOrder = (builder: Builder, ...rest: unknown[]) => void;

/** The order columns of a select that were added here. */
const orderColumnsBySelect = new WeakMap<Builder, OrderColumn[]>();

/** Adds order columns to a select, at planning or at execution. */
function addOrder(builder: Builder, columns: readonly OrderColumn[]): void {
  const before = orderOf(builder);
  const all = withoutRepeats([...before, ...columns]);
  orderColumnsBySelect.set(builder, all);
  for (const column of all.slice(before.length)) builder.orderBy(orderSpec(column, builder.alias));
}

/** The order of a select so far; at planning, that of the document's literals. */
export function orderOf(builder: Builder): readonly OrderColumn[] {
  return orderColumnsBySelect.get(builder) ?? [];
}

/** Copies the order from planning to execution, where the select starts with its columns only. */
export function copyPlannedOrder(builder: Builder, planned: readonly OrderColumn[]): void {
  if (planned.length > 0)
    orderColumnsBySelect.set(builder, withoutRepeats([...planned, ...orderOf(builder)]));
}

/** Adds the default order where there is none, makes the order unique, and returns its columns. */
export function completeOrder(
  builder: Builder,
  resource: PgResource,
  fallback: readonly OrderColumn[],
): readonly OrderColumn[] {
  if (!orderColumnsBySelect.has(builder)) addOrder(builder, fallback);
  addOrder(builder, missingKeyColumns(resource, orderOf(builder)));
  builder.setOrderIsUnique();
  return orderOf(builder);
}

/**
 * Fixes a value of an orderBy enumeration: the library's own marks an order as unique when its column merely begins a
 * unique key, and cursors would skip rows.
 */
export function recordOrderColumns(table: PgCodec, apply: ApplyOrder): ApplyOrder {
  return (builder, ...rest) => {
    const recorder = Object.create(builder) as Builder;
    recorder.orderBy = (spec) => {
      const { attribute, direction, codec } = spec as Partial<OrderColumn>;
      if (attribute === undefined || !direction) builder.orderBy(spec);
      else
        addOrder(builder, [
          { ...orderColumn(table, attribute, direction), ...(codec && { codec }) },
        ]);
    };
    recorder.setOrderIsUnique = () => {
      // An order not known to be unique gets the primary key, here or from the select.
    };
    apply(recorder, ...rest);
  };
}
