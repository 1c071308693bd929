import { useQuery } from "@tanstack/react-query";
import { fetchRows } from "../../api/rows.ts";
import type { Entities, Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { textOf } from "../../meta/format.ts";
import { quoteValue } from "../../meta/queryTokens.ts";
import type { Row } from "../../meta/rows.ts";
import type { ListSearch } from "../list/listSearch.ts";
import { type ViewState, viewEntityOf } from "./viewEntity.ts";

export interface SavedView extends ViewState {
  row: Row;
  name: string;
  /** The name of the owner of a view that is not the caller's own; null for own views. */
  sharedBy: string | null;
}

/** The number of views of a list that the menu shows. */
const mostViews = 250;

/** The saved views of a list that the caller sees; undefined until they are loaded, and while `isWanted` is false. */
export function useSavedViews(
  { name }: Entity,
  isWanted: boolean,
): { views: readonly SavedView[] | undefined; error: unknown } {
  const entities = useEntities();
  const viewEntity = viewEntityOf(entities);
  const { data, error } = useQuery({
    queryKey: ["rows", "views", name],
    queryFn: async ({ signal }) => {
      if (!viewEntity) return [];
      const { nodes } = await fetchRows(
        entities,
        {
          entity: viewEntity,
          columns: viewEntity.fields.filter(({ kind }) => kind !== "REFERENCE"),
          order: [],
          query: `entity:${quoteValue(name)}`,
          parentRow: null,
          first: mostViews,
          offset: 0,
          count: false,
        },
        signal,
      );
      return nodes.map((row) => savedViewOf(entities, viewEntity, row));
    },
    enabled: isWanted,
  });
  return { views: data, error };
}

/** The saved view in a row with all its fields. */
export function savedViewOf(entities: Entities, viewEntity: Entity, row: Row): SavedView {
  const texts = (value: unknown) => (Array.isArray(value) ? value.map(textOf) : []);
  const isOwn = entities.mutationOfRow(viewEntity.canUpdate, row) !== null;
  return {
    row,
    name: textOf(row["name"]),
    query: textOf(row["query"]),
    orderBy: texts(row["orderBy"]),
    columns: texts(row["columns"]),
    sharedBy: isOwn ? null : textOf(row["ownerName"]),
  };
}

/** The address of a list with a view. It names the query also if that is empty, so that the address alone says what is shown. */
export function searchOfView({ row, query, orderBy, columns }: SavedView): ListSearch {
  return { view: row.id, q: query, order: orderBy.join(","), cols: columns.join(",") };
}

/** Whether the list shows something else than the view. */
export function isChanged(view: SavedView, search: ListSearch): boolean {
  const saved = searchOfView(view);
  return (["q", "order", "cols"] as const).some(
    (key) => (saved[key] ?? "") !== (search[key] ?? ""),
  );
}
