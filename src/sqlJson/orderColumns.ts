import type { GraphQLField, GraphQLNamedType } from "graphql";
import { getNamedType, isEnumType } from "graphql";
import type { PgSelectQueryBuilder } from "postgraphile/@dataplan/pg";
import type { OrderColumn } from "../paging/defaultOrder.ts";
import type { Rows } from "./sqlJsonField.ts";
import { UnsupportedSelection } from "./selection.ts";

type Apply = (builder: Pick<PgSelectQueryBuilder, "orderBy" | "setOrderIsUnique">) => void;

/**
 * The columns of the requested order, made unique; the table's default order where none is requested.
 * @throws Error for an order that is not by columns
 */
export function orderColumns(
  { args }: Pick<GraphQLField<unknown, unknown>, "args">,
  given: unknown,
  rows: Rows,
): readonly OrderColumn[] {
  const wanted = given == null ? [] : (given as unknown[]);
  if (wanted.length === 0) return rows.order;
  const argument = args.find(({ name }) => name === "orderBy");
  return rows.completed(namedColumns(argument && getNamedType(argument.type), wanted));
}

/**
 * The columns of values of an orderBy enumeration.
 * @throws Error for an order that is not by columns
 */
export function namedColumns(
  type: GraphQLNamedType | null | undefined,
  values: readonly unknown[],
): OrderColumn[] {
  if (!isEnumType(type)) throw new UnsupportedSelection("orderBy");
  return values.flatMap((value): OrderColumn[] => {
    const found = type.getValues().find((one) => one.value === value);
    // The library types `apply` for every builder; an order's calls only these two methods.
    const apply = found?.extensions.grafast?.apply as Apply | undefined;
    if (!apply) throw new UnsupportedSelection("orderBy");
    const named: OrderColumn[] = [];
    apply({
      orderBy(spec) {
        const { attribute, direction } = typeof spec === "object" ? spec : {};
        if (attribute === undefined || !direction) throw new UnsupportedSelection("orderBy");
        named.push({ attribute, direction });
      },
      setOrderIsUnique() {
        // Unique orders are recognised by their columns.
      },
    });
    return named;
  });
}
