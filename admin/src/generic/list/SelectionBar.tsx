import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import { type Entity, actionsOfRows } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { useKeys } from "../../ui/keys.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { useLoaded } from "../../ui/useLoaded.ts";
import { deleteLater } from "../record/deleteLater.ts";
import { SelectionActions } from "./SelectionActions.tsx";

const loadEditSelection = async () => (await import("./EditSelection.tsx")).EditSelection;

/** The largest number of rows to delete or change together: the console sends one request for each row. */
const mostChanged = 100;

interface SelectionBarProps {
  entity: Entity;
  /** The selected rows; none when all rows that match are selected. */
  rows: readonly Row[];
  /** Called when the rows are no longer to be selected. */
  onEnd: () => void;
}

/** What can be done with the selected rows of a list, beside their number. */
export function SelectionBar({ entity, rows, onEnd }: SelectionBarProps): ReactNode {
  const entities = useEntities();
  const navigate = useNavigate();
  const mayDelete =
    rows.length > 0 && rows.every((row) => entities.mutationOfRow(entity.canDelete, row) !== null);
  const mayEdit =
    rows.length > 0 &&
    entity.canUpdate !== null &&
    entity.fields.some(({ onUpdate }) => onUpdate !== "NO");
  const [isEdited, setEdited] = useState(false);
  const EditSelection = useLoaded(loadEditSelection, isEdited);
  const edit = () => {
    if (rows.length > mostChanged) showToast(en.list.tooManyChanged(mostChanged), { tone: "bad" });
    else setEdited(true);
  };
  const remove = () => {
    if (rows.length > mostChanged) {
      showToast(en.list.tooMany(mostChanged), { tone: "bad" });
      return;
    }
    const [only] = rows;
    deleteLater({
      entity,
      rows,
      name:
        rows.length === 1 && only ? rowName(entity, only) : en.list.counted(rows.length, entity),
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
      {isEdited && EditSelection && (
        <EditSelection
          entity={entity}
          ids={rows.map(({ id }) => id)}
          onClose={() => setEdited(false)}
          onDone={() => {
            setEdited(false);
            onEnd();
          }}
        />
      )}
    </>
  );
}
