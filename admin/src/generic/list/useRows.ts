import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { type ParentRow, type RowsPage, fetchRows } from "../../api/rows.ts";
import type { Entity, EntityField } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import type { Row } from "../../meta/rows.ts";

export const pageSize = 100;

interface RowsOptions {
  entity: Entity;
  columns: readonly EntityField[];
  query: string;
  order: readonly string[];
  /** The parent row, for tables without a root list. */
  parentRow?: ParentRow | null;
  /** The indexes of the first and the last visible row. */
  range: readonly [first: number, last: number];
}

export interface Rows {
  /** The number of matching rows; undefined until the first page is loaded. */
  total: number | undefined;
  /** The row at `index`; undefined until it is loaded. */
  rowAt: (index: number) => Row | undefined;
  isLoading: boolean;
  /** Whether the shown rows are those of the previous query. */
  isStale: boolean;
  error: unknown;
  refetch: () => void;
}

/** Loads the pages around the visible rows. Only the request for the first page counts all matches. */
export function useRows({
  entity,
  columns,
  query,
  order,
  parentRow = null,
  range,
}: RowsOptions): Rows {
  const shape = columns.map(({ name }) => name).join();
  const entities = useEntities();
  const optionsOf = (page: number) => ({
    queryKey: [
      "rows",
      entity.name,
      shape,
      order.join(),
      parentRow && `${parentRow.parent.by}:${parentRow.id}`,
      query,
      page,
    ],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      fetchRows(
        entities,
        {
          entity,
          columns,
          order,
          query,
          parentRow,
          first: pageSize,
          offset: page * pageSize,
          count: page === 0,
        },
        signal,
      ),
    gcTime: 120_000,
  });
  const first = useQuery({ ...optionsOf(0), placeholderData: keepPreviousData });
  // When a query is rejected, the rows of the previous query remain.
  const [kept, setKept] = useState<RowsPage>();
  if (first.data && first.data !== kept) setKept(first.data);
  const shown = first.data ?? kept;
  const total = shown?.totalCount ?? undefined;
  const isWhole = shown?.isWhole === true;
  const wanted = useMemo(() => {
    if (total === undefined || isWhole) return [];
    const lastPage = Math.max(0, Math.ceil(total / pageSize) - 1);
    const from = Math.max(1, Math.floor(range[0] / pageSize));
    const to = Math.min(lastPage, Math.floor((range[1] + pageSize / 2) / pageSize));
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  }, [total, isWhole, range]);
  const others = useQueries({ queries: wanted.map(optionsOf) });

  const rowAt = useCallback(
    (index: number): Row | undefined => {
      if (isWhole) return shown?.nodes[index];
      const page = Math.floor(index / pageSize);
      const data = page === 0 ? shown : others[wanted.indexOf(page)]?.data;
      return data?.nodes[index % pageSize];
    },
    [shown, isWhole, others, wanted],
  );
  return {
    total,
    rowAt,
    isLoading: first.isFetching || others.some(({ isPending }) => isPending),
    isStale: first.isPlaceholderData || first.isError,
    error: first.error ?? others.find(({ error }) => error !== null)?.error ?? null,
    refetch: () => void first.refetch(),
  };
}
