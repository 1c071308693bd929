import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { useKeys } from "../../ui/keys.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { deleteLater } from "../record/deleteLater.ts";

/** The largest number of rows to delete together: the console sends one request for each row. */
const mostDeleted = 100;

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
  const remove = () => {
    if (rows.length > mostDeleted) {
      showToast(en.list.tooMany(mostDeleted), { tone: "bad" });
      return;
    }
    const [only] = rows;
    deleteLater({
      entity,
      rows,
      name:
        rows.length === 1 && only
          ? rowName(entity, only)
          : en.list.counted(rows.length, entity.title),
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
    Delete: () => {
      if (!mayDelete) return false;
      remove();
      return true;
    },
  });
  return (
    <>
      {mayDelete && (
        <Button className="link-button" onPress={remove}>
          {en.record.delete}
        </Button>
      )}
      <Button className="link-button" onPress={onEnd}>
        {en.list.deselect}
      </Button>
    </>
  );
}
