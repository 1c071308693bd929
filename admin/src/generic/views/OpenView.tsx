import { type ReactNode, useEffect } from "react";
import type { Entity } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { enViews } from "../../text/enViews.ts";
import { showToast } from "../../ui/Toasts.tsx";
import type { ListSearch } from "../list/listSearch.ts";
import { isChanged, searchOfView, useSavedViews } from "./savedViews.ts";

interface OpenViewProps {
  entity: Entity;
  search: ListSearch;
  /** Replaces the address of the list. */
  onReplace: (search: ListSearch) => void;
}

/** The name of the view that is open. An address with nothing but a view gets the query, order and columns of the view. */
export function OpenView({ entity, search, onReplace }: OpenViewProps): ReactNode {
  const { views } = useSavedViews(entity, true);
  const view = views?.find(({ row }) => row.id === search.view);
  const isShort = search.q === undefined && search.order === undefined && search.cols === undefined;
  useEffect(() => {
    if (!views || !isShort) return;
    if (!view) showToast(enViews.missing, { tone: "bad" });
    onReplace(view ? searchOfView(view) : { view: "" });
  }, [views, view, isShort, onReplace]);
  if (!view) return en.list.views;
  return (
    <>
      <span className="view-name">{view.name}</span>
      {!isShort && isChanged(view, search) && <span className="dim">{enViews.changed}</span>}
    </>
  );
}
