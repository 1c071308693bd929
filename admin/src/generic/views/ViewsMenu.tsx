import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { MenuItem, MenuSection, Separator } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { enViews } from "../../text/enViews.ts";
import type { OverlayProps } from "../../ui/OverlayButton.tsx";
import { OverlayMenu } from "../../ui/OverlayMenu.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { changeRow } from "../list/changeRow.ts";
import { useDeletedRows } from "../list/deletedRows.ts";
import type { ListSearch } from "../list/listSearch.ts";
import { type SavedView, isChanged, searchOfView, useSavedViews } from "./savedViews.ts";
import { type ViewState, viewEntityOf } from "./viewEntity.ts";

export interface ViewsMenuProps {
  entity: Entity;
  search: ListSearch;
  /** What the list shows, as a view stores it. */
  state: ViewState;
  onSearch: (search: ListSearch) => void;
  /** Opens the form of a new view. */
  onNew: () => void;
  /** Opens a view to rename, share or delete it. */
  onEdit: (id: string) => void;
}

/** Opens a saved view of the list, or saves what the list shows. */
export function ViewsMenu(props: ViewsMenuProps & OverlayProps): ReactNode {
  const { entity, search, state, onSearch, onNew, onEdit, triggerRef, focus, onClose } = props;
  const viewEntity = viewEntityOf(useEntities());
  const isDeleted = useDeletedRows(viewEntity?.name ?? "");
  const { views, error } = useSavedViews(entity, true);
  const isPlain = [search.view, search.q, search.order, search.cols].every(
    (one) => one === undefined,
  );
  const current = views?.find(({ row }) => row.id === search.view);
  const { mutate: save } = useMutation({
    mutationFn: async (view: SavedView) => {
      const query = state.query === "" ? null : state.query;
      if (viewEntity) await changeRow(ask, viewEntity, view.row, { ...state, query });
      return { ...view, ...state };
    },
    onSuccess: (view) => {
      showToast(enViews.saved(view.name));
      onSearch(searchOfView(view));
    },
    onError: (failure, { name }) =>
      showToast(`${enViews.notSaved(name)} ${failure.message}`, { tone: "bad" }),
    onSettled: refetchRows,
  });
  const shown = views?.filter(({ row }) => !isDeleted(row.id)) ?? [];
  return (
    <OverlayMenu
      label={en.list.views}
      triggerRef={triggerRef}
      focus={focus}
      onClose={onClose}
      renderEmptyState={() => (
        <p className="hint menu-item">{error instanceof Error ? error.message : en.loading}</p>
      )}
    >
      {/* Not before all is loaded: no item moves under the pointer. */}
      {views && (
        <>
          <MenuSection
            aria-label={en.list.views}
            selectionMode="single"
            selectedKeys={isPlain ? ["all"] : [search.view ?? ""]}
          >
            <MenuItem
              id="all"
              className="menu-item"
              onAction={() => onSearch({ view: "", q: undefined, order: "", cols: "" })}
            >
              {entity.defaultQuery === null ? enViews.all : enViews.usual}
            </MenuItem>
            {shown.map((view) => (
              <MenuItem
                key={view.row.id}
                id={view.row.id}
                className="menu-item"
                textValue={view.name}
                onAction={() => onSearch(searchOfView(view))}
              >
                {view.name}
                {view.sharedBy !== null && <span className="dim">{view.sharedBy}</span>}
              </MenuItem>
            ))}
          </MenuSection>
          {viewEntity?.canCreate && (
            <>
              <Separator className="menu-separator" />
              {current?.sharedBy === null && isChanged(current, search) && (
                <MenuItem className="menu-item" onAction={() => save(current)}>
                  {enViews.save(current.name)}
                </MenuItem>
              )}
              {current?.sharedBy === null && (
                <MenuItem className="menu-item" onAction={() => onEdit(current.row.id)}>
                  {enViews.edit(current.name)}
                </MenuItem>
              )}
              <MenuItem className="menu-item" onAction={onNew}>
                {enViews.saveAs}
              </MenuItem>
            </>
          )}
        </>
      )}
    </OverlayMenu>
  );
}
