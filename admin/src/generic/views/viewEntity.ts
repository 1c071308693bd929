import type { Entities, Entity } from "../../meta/entities.ts";

/** The fields of a saved view that make up the state of a list. */
export interface ViewState {
  query: string;
  orderBy: string[];
  columns: string[];
}

/** Whether the rows of a table are saved views. */
export const isViewEntity = ({ typeName }: Pick<Entity, "typeName">): boolean =>
  typeName === "SavedView";

/** The table of the saved views; undefined when the caller has none. */
export const viewEntityOf = ({ metadata }: Entities): Entity | undefined =>
  metadata.entities.find(isViewEntity);
