import { type GraphQLNamedType, isEnumType } from "graphql";
import type { PgCodec, PgResource, PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import { sql } from "postgraphile/pg-sql2";
import { badUserInput } from "../errors/PublicError.ts";
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

/** The columns of values of an orderBy enumeration. @throws PublicError for an order that is not by columns */
export function namedColumns(
  type: GraphQLNamedType | null | undefined,
  values: readonly unknown[],
): OrderColumn[] {
  const known = isEnumType(type) ? type.getValues() : [];
  return values.flatMap((wanted) => {
    const found = known.find(({ value }) => value === wanted);
    // The library types `apply` for every builder; an order uses only these members.
    const apply = found?.extensions.grafast?.apply as ApplyOrder | undefined;
    const builder = {
      alias: sql.identifier("row"),
      orderBy() {
        // The recorded columns are read below.
      },
      setOrderIsUnique() {
        // Unique orders are recognised by their columns.
      },
    };
    apply?.(builder);
    const columns = orderOf(builder);
    if (columns.length === 0)
      throw badUserInput(`orderBy: \`${found?.name ?? ""}\` is not an order by columns`, {
        path: ["orderBy"],
      });
    return columns;
  });
}
