import type { ReactNode } from "react";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import type { ListSearch } from "../list/listSearch.ts";
import { NewRowDrawer } from "../record/NewRow.tsx";
import { savedViewOf, searchOfView } from "./savedViews.ts";
import type { ViewState } from "./viewEntity.ts";

interface NewViewProps {
  /** The table of the saved views. */
  viewEntity: Entity;
  /** The list. */
  entity: Entity;
  /** What the list shows. */
  state: ViewState;
  onSearch: (search: ListSearch) => void;
  onClose: () => void;
}

/** The form of a new view with what the list shows. Saved, the view is opened. */
export function NewView({ viewEntity, entity, state, onSearch, onClose }: NewViewProps): ReactNode {
  const entities = useEntities();
  return (
    <NewRowDrawer
      entity={viewEntity}
      initial={{
        entity: entity.name,
        query: state.query,
        orderBy: state.orderBy.join("\n"),
        columns: state.columns.join("\n"),
      }}
      drawer={undefined}
      onCreated={(row) => {
        // The form can name another list.
        if (row["entity"] === entity.name)
          onSearch(searchOfView(savedViewOf(entities, viewEntity, row)));
      }}
      onClose={onClose}
    />
  );
}
