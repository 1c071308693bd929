import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Button, MenuTrigger, Popover } from "react-aria-components";
import { fetchRecords } from "../../api/record.ts";
import { type Entity, actionsOfRows } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { rowName } from "../../meta/kinds.tsx";
import { en } from "../../text/en.ts";
import { useKeys } from "../../ui/keys.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { ActionItems, isOffered } from "../record/ActionsMenu.tsx";
import { useActionRun } from "../record/useActionRun.tsx";

interface SelectionActionsProps {
  entity: Entity;
  ids: readonly string[];
  /** The largest number of rows. */
  most: number;
  /** Called when an action is done for all rows. */
  onDone: () => void;
}

/** The menu of the actions that apply to all selected rows. */
export function SelectionActions({ entity, ids, most, onDone }: SelectionActionsProps): ReactNode {
  const entities = useEntities();
  const [isOpen, setOpen] = useState(false);
  // When the menu opens, since a list has neither all fields that actions depend on nor the versions of its rows.
  const [isLoaded, setLoaded] = useState(false);
  const { data, error } = useQuery({
    queryKey: ["selectedRows", entity.name, ids],
    queryFn: ({ signal }) => fetchRecords(entities, entity, ids, signal),
    enabled: isLoaded,
    gcTime: 0,
  });
  const rows = data ?? [];
  const [only] = rows;
  const { start, isRunning, dialogs } = useActionRun({
    entity,
    rows,
    name: rows.length === 1 && only ? rowName(entity, only) : en.list.counted(rows.length, entity),
    nameOf: (row) => (row === null ? "" : rowName(entity, row)),
    onDone,
  });
  const offered = actionsOfRows(entity).filter((action) =>
    rows.every((row) => isOffered(entity, action, row)),
  );
  const open = (next: boolean) => {
    if (next && ids.length > most) showToast(en.list.tooManyChanged(most), { tone: "bad" });
    else {
      setLoaded(true);
      setOpen(next);
    }
  };
  useKeys({ ".": () => open(true) });
  return (
    <>
      <MenuTrigger isOpen={isOpen && (data !== undefined || error !== null)} onOpenChange={open}>
        <Button className="link-button" isDisabled={isRunning}>
          {en.record.actions}
        </Button>
        <Popover className="menu-popover" placement="top start">
          <ActionItems
            actions={error === null ? offered : []}
            empty={error === null ? en.list.noAction : error.message}
            onStart={start}
          />
        </Popover>
      </MenuTrigger>
      {dialogs}
    </>
  );
}
