import { type ReactNode, useCallback, useState } from "react";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { OverlayButton } from "../../ui/OverlayButton.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import type { ListSearch } from "../list/listSearch.ts";
import { drawerOf } from "../record/drawers.ts";
import { type ViewState, viewEntityOf } from "./viewEntity.ts";

const loadViewsMenu = async () => (await import("./ViewsMenu.tsx")).ViewsMenu;
const loadOpenView = async () => (await import("./OpenView.tsx")).OpenView;
const loadNewView = async () => (await import("./NewView.tsx")).NewView;

interface ViewsButtonProps {
  entity: Entity;
  search: ListSearch;
  /** What the list shows, as a view stores it. */
  state: ViewState;
  onSearch: (search: ListSearch, isReplaced?: boolean) => void;
}

/** The button with the saved views of a list; it has the name of the view that is open. */
export function ViewsButton({ entity, search, state, onSearch }: ViewsButtonProps): ReactNode {
  const viewEntity = viewEntityOf(useEntities());
  const [isNew, setNew] = useState(false);
  const NewView = useLoaded(loadNewView, isNew);
  const OpenView = useLoaded(loadOpenView, search.view !== undefined);
  const replace = useCallback((next: ListSearch) => onSearch(next, true), [onSearch]);
  if (!viewEntity) return null;
  return (
    <>
      <OverlayButton
        className="button"
        kind="menu"
        shortcut="v"
        load={loadViewsMenu}
        overlayProps={{
          entity,
          search,
          state,
          onSearch,
          onNew: () => setNew(true),
          onEdit: (id: string) => onSearch({ open: drawerOf(viewEntity.name, id) }),
        }}
      >
        {search.view !== undefined && OpenView ? (
          <OpenView entity={entity} search={search} onReplace={replace} />
        ) : (
          en.list.views
        )}
      </OverlayButton>
      {isNew && NewView && (
        <NewView
          viewEntity={viewEntity}
          entity={entity}
          state={state}
          onSearch={onSearch}
          onClose={() => setNew(false)}
        />
      )}
    </>
  );
}
