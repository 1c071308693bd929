import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger, Popover } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { actionDocument, rowVariables } from "../../api/recordDocuments.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { ActionOwner, EntityAction } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Description } from "../../ui/Description.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { useKeys } from "../../ui/keys.ts";
import { useLoaded } from "../../ui/useLoaded.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import { type ActionAnswer, showActionResult } from "./actionResult.ts";

const loadActionDrawer = async () => (await import("./ActionDrawer.tsx")).ActionDrawer;

interface ActionsMenuProps {
  /** The table or the report of the rows. */
  entity: ActionOwner;
  /** The row whose actions are offered; null for the actions of the list. */
  row: Row | null;
  /** The displayed name of the row; null for the list. */
  name: string | null;
}

/** The menu of the actions that the caller may run on a row, such as activating a user, or on a list. */
export function ActionsMenu({ entity, row, name }: ActionsMenuProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const [asked, setAsked] = useState<EntityAction | null>(null);
  const mutation = useMutation({
    mutationFn: (action: EntityAction) =>
      ask<ActionAnswer>(actionDocument(action, {}), rowVariables(action, row), {
        idempotencyKey: crypto.randomUUID(),
      }),
    onSuccess: (answer, action) => showActionResult(action, name, answer),
    onError: (error, { title }) =>
      showToast(`${en.record.notDone(title, name)}. ${error.message}`, { tone: "bad" }),
    // Also after an error, since its cause may be that the row has changed.
    onSettled: refetchRows,
  });
  const [filledIn, setFilledIn] = useState<EntityAction | null>(null);
  const ActionDrawer = useLoaded(loadActionDrawer, filledIn !== null);
  const offered = entity.actions.filter((action) =>
    row === null ? action.argument === null : isOffered(entity, action, row),
  );
  useKeys(
    useMemo(
      () => ({
        ".": () => {
          if (offered.length === 0) return false;
          setOpen(true);
          return true;
        },
      }),
      [offered.length],
    ),
  );
  const start = (action: EntityAction) => {
    // The form of an action with arguments is also the question before a harmful one.
    if (action.arguments.length > 0) setFilledIn(action);
    else if (action.isHarmful) setAsked(action);
    else mutation.mutate(action);
  };
  return (
    <>
      {offered.length > 0 && (
        <MenuTrigger isOpen={isOpen} onOpenChange={setOpen}>
          <Button className="button" isDisabled={mutation.isPending}>
            {en.record.actions}
          </Button>
          <Popover className="menu-popover" placement="bottom end">
            <Menu aria-label={en.record.actions} autoFocus="first">
              {offered.map((action) => (
                <MenuItem
                  key={action.field}
                  id={action.field}
                  className="menu-item menu-action"
                  textValue={action.title}
                  onAction={() => start(action)}
                >
                  <span>{action.title}</span>
                  <span className="hint">
                    <Description text={action.description} />
                  </span>
                </MenuItem>
              ))}
            </Menu>
          </Popover>
        </MenuTrigger>
      )}
      {filledIn && ActionDrawer && (
        <ActionDrawer
          entity={entity}
          action={filledIn}
          row={row}
          name={name}
          onClose={() => setFilledIn(null)}
        />
      )}
      {asked && (
        <QuestionDialog
          title={name === null ? `${asked.title}?` : `${asked.title}: ${name}?`}
          text={<Description text={asked.description} />}
          onCancel={() => setAsked(null)}
          actions={
            <>
              <Button className="button" autoFocus onPress={() => setAsked(null)}>
                {en.goBack}
              </Button>
              <Button
                className="button button-danger"
                onPress={() => {
                  mutation.mutate(asked);
                  setAsked(null);
                }}
              >
                {asked.title}
              </Button>
            </>
          }
        />
      )}
    </>
  );
}

/**
 * Whether the action applies to the row in its present state. A null boolean, or a field that the caller may not see,
 * does not hide the action; any other empty field counts as false.
 */
function isOffered(
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
