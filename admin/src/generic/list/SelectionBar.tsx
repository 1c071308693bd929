import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import {
  type Entity,
  type EntityMutation,
  actionsOfRows,
  allRowsQuery,
} from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { useKeys } from "../../ui/keys.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import { deleteLater } from "../record/deleteLater.ts";
import type { ManyRows } from "./manyRows.ts";
import { SelectionActions } from "./SelectionActions.tsx";

const loadDeleteMany = async () => (await import("./DeleteMany.tsx")).DeleteMany;
const loadEditMany = async () => (await import("./EditMany.tsx")).EditMany;
const loadEditSelection = async () => (await import("./EditSelection.tsx")).EditSelection;

/** The largest number of rows that are deleted or changed by one request each, with their versions and an undo. */
const mostChanged = 100;

interface SelectionBarProps {
  entity: Entity;
  /** The selected rows; none when all rows that match are selected. */
  rows: readonly Row[];
  /** The query of the list and the number of its rows when all of them are selected. */
  all: { query: string; count: number } | null;
  /** Called when the rows are no longer to be selected. */
  onEnd: () => void;
}

/** What can be done with the selected rows of a list, beside their number. */
export function SelectionBar({ entity, rows, all, onEnd }: SelectionBarProps): ReactNode {
  const entities = useEntities();
  const navigate = useNavigate();
  const [isEdited, setEdited] = useState(false);
  const [isDeletionAsked, setDeletionAsked] = useState(false);

  const many = manyRowsOf(entity, rows, all);
  const manyToEdit = entity.canUpdate?.bulk == null ? null : many;
  // Those of others stay.
  const deletable = rows.filter((row) => entities.mutationOfRow(entity.canDelete, row) !== null);
  const manyToDelete = entity.canDelete?.bulk == null ? null : manyRowsOf(entity, deletable, all);
  const mayDelete = deletable.length > 0 || manyToDelete !== null;
  const mayEdit =
    entity.canUpdate !== null &&
    (rows.length > 0 || manyToEdit !== null) &&
    entity.fields.some(({ onUpdate }) => onUpdate !== "NO");
  /** Says so when the rows are too many for a mutation. */
  const areTooMany = (mutation: EntityMutation | null, text: (most: number) => string) => {
    const most = mutation?.bulk?.mostRows ?? mostChanged;
    const count = all?.count ?? rows.length;
    if (count > most) showToast(text(most), { tone: "bad" });
    return count > most;
  };

  const EditSelection = useLoaded(loadEditSelection, isEdited && manyToEdit === null);
  const EditMany = useLoaded(loadEditMany, isEdited && manyToEdit !== null);
  const DeleteMany = useLoaded(loadDeleteMany, isDeletionAsked);
  const edit = () => {
    if (!areTooMany(entity.canUpdate, en.list.tooManyChanged)) setEdited(true);
  };
  const remove = () => {
    if (areTooMany(entity.canDelete, en.list.tooMany)) return;
    if (manyToDelete !== null) {
      setDeletionAsked(true);
      return;
    }
    const [only] = deletable;
    deleteLater({
      entity,
      rows: deletable,
      kept: rows.length - deletable.length,
      name:
        deletable.length === 1 && only
          ? rowName(entity, only)
          : en.list.counted(deletable.length, entity),
      entities,
      onShow: ({ id }, { field }) =>
        void navigate({
          to: "/$entity/$id",
          params: { entity: entity.name, id },
          search: { tab: field },
        }),
    });
    onEnd();
  };
  useKeys({
    e: () => {
      if (!mayEdit) return false;
      edit();
      return true;
    },
    Delete: () => {
      if (!mayDelete) return false;
      remove();
      return true;
    },
  });
  return (
    <>
      {mayEdit && (
        <Button className="link-button" onPress={edit}>
          {en.list.edit}
        </Button>
      )}
      {rows.length > 0 && actionsOfRows(entity).length > 0 && (
        <SelectionActions
          entity={entity}
          ids={rows.map(({ id }) => id)}
          most={mostChanged}
          onDone={onEnd}
        />
      )}
      {mayDelete && (
        <Button className="link-button" onPress={remove}>
          {en.record.delete}
        </Button>
      )}
      <Button className="link-button" onPress={onEnd}>
        {en.list.deselect}
      </Button>
      {isEdited && manyToEdit === null && EditSelection && (
        <EditSelection
          entity={entity}
          ids={rows.map(({ id }) => id)}
          onClose={() => setEdited(false)}
          onDone={onEnd}
        />
      )}
      {isEdited && manyToEdit !== null && EditMany && (
        <EditMany
          entity={entity}
          rows={manyToEdit}
          onClose={() => setEdited(false)}
          onDone={onEnd}
        />
      )}
      {isDeletionAsked && manyToDelete !== null && DeleteMany && (
        <DeleteMany
          entity={entity}
          rows={manyToDelete}
          onClose={() => setDeletionAsked(false)}
          onDone={onEnd}
        />
      )}
    </>
  );
}

/** The rows of a selection that are too many for a request each; null for the others. */
function manyRowsOf(
  entity: Entity,
  rows: readonly Row[],
  all: SelectionBarProps["all"],
): ManyRows | null {
  if (all !== null) {
    const query = all.query === "" ? allRowsQuery(entity) : all.query;
    return query === null ? null : { chosen: { query }, count: all.count };
  }
  return rows.length > mostChanged
    ? { chosen: { ids: rows.map(({ id }) => id) }, count: rows.length }
    : null;
}
