import type { PgResource, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { orderSpec } from "./cursors.ts";
import { eachOnce, missingKey } from "./defaultOrder.ts";
import type { OrderColumn } from "./defaultOrder.ts";

type Builder = Pick<PgSelectQueryBuilder, "orderBy" | "setOrderIsUnique">;
type ApplyOrder = (builder: PgSelectQueryBuilder, ...rest: unknown[]) => void;

/** The columns by which a select is ordered, as far as they came through here. */
const ordered = new WeakMap<Builder, OrderColumn[]>();

/** Adds columns to the order of a select, be it still in the making or about to run. */
function addOrder(builder: Builder, columns: readonly OrderColumn[]): void {
  const before = orderOf(builder);
  const all = eachOnce([...before, ...columns]);
  ordered.set(builder, all);
  for (const column of all.slice(before.length)) builder.orderBy(orderSpec(column));
}

/** The order that a select has been given so far; when its plan is made, that is one which the document itself spells out. */
export function orderOf(builder: Builder): readonly OrderColumn[] {
  return ordered.get(builder) ?? [];
}

/**
 * Makes known, of a select that runs, the order that its plan has put into it already: what runs is not what was planned, and
 * has only its columns.
 */
export function recallOrder(builder: Builder, planned: readonly OrderColumn[]): void {
  if (planned.length > 0) ordered.set(builder, eachOnce([...planned, ...orderOf(builder)]));
}

/** Gives a select that has no order the default one, makes any unique, and returns its columns. */
export function completeOrder(
  builder: Builder,
  resource: PgResource,
  fallback: readonly OrderColumn[],
): readonly OrderColumn[] {
  if (!ordered.has(builder)) addOrder(builder, fallback);
  addOrder(builder, missingKey(resource, orderOf(builder)));
  builder.setOrderIsUnique();
  return orderOf(builder);
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
