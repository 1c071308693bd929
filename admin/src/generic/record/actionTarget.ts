import type { ActionOwner, EntityAction } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";

/** What an action is run on. */
export interface ActionTarget {
  /** The table or the report of the rows. */
  entity: ActionOwner;
  /** The rows that the action is run on, as they are now; none for an action of the list. */
  rows: readonly Row[];
  /** The displayed name of the row, or the number of rows; null for the list. */
  name: string | null;
  /** The name of a row in a message about several. */
  nameOf?: (row: Row | null) => string;
  /** Called when the action is done for all rows. */
  onDone?: () => void;
}

/** The rows that an action is run on; for an action of the list, null in place of a row. */
export const targetsOf = (
  { argument }: EntityAction,
  rows: readonly Row[],
): readonly (Row | null)[] => (argument === null ? [null] : rows);
