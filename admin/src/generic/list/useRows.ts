import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { ask } from "../../api/ask.ts";
import { listDocument } from "../../api/documents.ts";
import { addReferredRows } from "../../api/referredRows.ts";
import type { Entity, EntityField } from "../../meta/catalogue.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import type { Row } from "../../meta/rows.ts";

export const pageSize = 100;

interface RowsPage {
  page: { totalCount: number | null; nodes: Row[] };
}

interface RowsOptions {
  entity: Entity;
  columns: readonly EntityField[];
  query: string;
  order: readonly string[];
  /** Indexes of the first and last row in sight. */
  range: readonly [first: number, last: number];
}

export interface Rows {
  /** How many rows match; undefined until the first page has come. */
  total: number | undefined;
  /** The row at `index`; undefined while it is loaded. */
  rowAt: (index: number) => Row | undefined;
  isLoading: boolean;
  /** The rows shown belong to the query before. */
  isStale: boolean;
  error: unknown;
  refetch: () => void;
}

/** Loads the pages around the rows in sight. The first page also counts; all others only fetch. */
export function useRows({ entity, columns, query, order, range }: RowsOptions): Rows {
  const document = listDocument(entity, columns, order);
  const entities = useEntities();
  const optionsOf = (page: number) => ({
    queryKey: ["rows", entity.name, document, query, page],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const variables = {
        query: query === "" ? null : query,
        first: pageSize,
        offset: page * pageSize,
        count: page === 0,
      };
      const answer = await ask<RowsPage>(document, variables, { signal });
      const { nodes } = answer.page;
      // Without a key the place in the list has to do.
      if (entity.keyField === null)
        for (const [index, row] of nodes.entries()) row.id = String(page * pageSize + index);
      await addReferredRows(entities, columns, nodes, signal);
      return answer;
    },
    gcTime: 120_000,
  });
  const first = useQuery({ ...optionsOf(0), placeholderData: keepPreviousData });
  // Where a query is refused, the rows of the one before stay.
  const [kept, setKept] = useState<RowsPage>();
  if (first.data && first.data !== kept) setKept(first.data);
  const shown = first.data ?? kept;
  const total = shown?.page.totalCount ?? undefined;
  const wanted = useMemo(() => {
    if (total === undefined) return [];
    const lastPage = Math.max(0, Math.ceil(total / pageSize) - 1);
    const from = Math.max(1, Math.floor(range[0] / pageSize));
    const to = Math.min(lastPage, Math.floor((range[1] + pageSize / 2) / pageSize));
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  }, [total, range]);
  const others = useQueries({ queries: wanted.map(optionsOf) });

  const rowAt = useCallback(
    (index: number): Row | undefined => {
      const page = Math.floor(index / pageSize);
      const data = page === 0 ? shown : others[wanted.indexOf(page)]?.data;
      return data?.page.nodes[index % pageSize];
    },
    [shown, others, wanted],
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
