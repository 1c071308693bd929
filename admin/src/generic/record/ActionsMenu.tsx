import { type ReactNode, useMemo, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import type { ActionOwner, EntityAction } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Description } from "../../ui/Description.tsx";
import { useKeys } from "../../ui/keys.ts";
import { useActionRun } from "./useActionRun.tsx";

interface ActionsMenuProps {
  /** The table or the report of the rows. */
  entity: ActionOwner;
  /** The row whose actions are offered; null for the actions of the list. */
  row: Row | null;
  /** The displayed name of the row; null for the list. */
  name: string | null;
  /** Whether the key `.` opens the menu. */
  takesKey?: boolean;
}

/** The menu of the actions that the caller may run on a row, such as activating a user, or on a list. */
export function ActionsMenu({ entity, row, name, takesKey = true }: ActionsMenuProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { start, isRunning, dialogs } = useActionRun({
    entity,
    rows: row === null ? [] : [row],
    name,
  });
  const offered = entity.actions.filter((action) =>
    row === null ? action.argument === null : isOffered(entity, action, row),
  );
  useKeys(
    useMemo(
      () => ({
        ".": () => {
          if (!takesKey || offered.length === 0) return false;
          setOpen(true);
          return true;
        },
      }),
      [takesKey, offered.length],
    ),
  );
  return (
    <>
      {offered.length > 0 && (
        <MenuTrigger isOpen={isOpen} onOpenChange={setOpen}>
          <Button className="button" isDisabled={isRunning}>
            {en.record.actions}
          </Button>
          <Popover className="menu-popover" placement="bottom end">
            <ActionItems actions={offered} onStart={start} />
          </Popover>
        </MenuTrigger>
      )}
      {dialogs}
    </>
  );
}

interface ActionItemsProps {
  actions: readonly EntityAction[];
  /** The text in place of no actions. */
  empty?: string;
  onStart: (action: EntityAction) => void;
}

/** The items of a menu of actions. */
export function ActionItems({ actions, empty, onStart }: ActionItemsProps): ReactNode {
  return (
    <Menu
      aria-label={en.record.actions}
      autoFocus="first"
      renderEmptyState={() => <p className="hint menu-item">{empty}</p>}
    >
      {actions.map((action) => (
        <MenuItem
          key={action.field}
          id={action.field}
          className="menu-item menu-action"
          textValue={action.title}
          onAction={() => onStart(action)}
        >
          <span>{action.title}</span>
          <span className="hint">
            <Description text={action.description} />
          </span>
        </MenuItem>
      ))}
    </Menu>
  );
}

/**
 * Whether the action applies to the row in its present state. A null boolean, or a field that the caller may not see,
 * does not hide the action; any other empty field counts as false.
 */
export function isOffered(
  entity: ActionOwner,
  { argument, onlyIf, unless }: EntityAction,
  row: Row,
): boolean {
  if (argument === null) return false;
  const isSet = (name: string): boolean | null => {
    const value = row[name] ?? null;
    if (value !== null) return value !== false;
    const kind = entity.fields.find((field) => field.name === name)?.kind;
    return kind === undefined || kind === "BOOLEAN" ? null : false;
  };
  return (
    (onlyIf === null || isSet(onlyIf) !== false) && (unless === null || isSet(unless) !== true)
  );
}
