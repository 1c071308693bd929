import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "react-aria-components";
import { en } from "../../text/en.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import type { RecordForm } from "./useRecordForm.ts";

export function SaveButton({ form }: { form: RecordForm }): ReactNode {
  const count = form.edits.length;
  return (
    <Button
      className="button button-primary"
      // Not disabled, because it would lose the focus when it has saved.
      aria-disabled={form.dirty.length === 0}
      onPress={form.save}
    >
      {form.isSaving ? en.record.saving : en.record.save}
      {count > 0 && <span> · {count}</span>}
      <kbd>Ctrl S</kbd>
    </Button>
  );
}

interface LeaveGuardProps {
  form: RecordForm;
  /** The address of the drawer that contains the form. */
  drawer?: string | undefined;
}

/** Asks before edits are lost by a link, by Back, or by closing the drawer or the browser tab. */
export function LeaveGuard({ form, drawer }: LeaveGuardProps): ReactNode {
  const isDirty = form.edits.length > 0;
  const blocker = useBlocker({
    // Switching the tab of the record, or opening a drawer above it, keeps the form.
    shouldBlockFn: ({ current, next }) =>
      isDirty && (current.pathname !== next.pathname || !isWithin(drawer, next.search)),
    enableBeforeUnload: isDirty,
    withResolver: true,
  });
  const isBlocked = blocker.status === "blocked";
  return (
    isBlocked && (
      <LeaveDialog form={form} onStay={() => blocker.reset()} onLeave={() => blocker.proceed()} />
    )
  );
}

interface LeaveDialogProps {
  form: RecordForm;
  onStay: () => void;
  onLeave: () => void;
}

/** Asks whether to save or discard the edits, or to stay. */
export function LeaveDialog({ form, onStay, onLeave }: LeaveDialogProps): ReactNode {
  const isDirty = form.edits.length > 0;
  const [isAsked, setAsked] = useState(false);
  const hasTrouble =
    isAsked &&
    !form.isSaving &&
    (form.conflict !== null || form.problem !== null || Object.keys(form.errors).length > 0);
  useEffect(() => {
    // The edits were saved from the dialog.
    if (!isDirty) onLeave();
    // Saving failed: the form shows the errors or the conflict.
    else if (hasTrouble) onStay();
  }, [isDirty, hasTrouble, onLeave, onStay]);
  return (
    <QuestionDialog
      title={en.record.leaveTitle}
      text={en.record.leaveHint(form.edits.length)}
      onCancel={onStay}
      actions={
        <>
          <Button className="button" autoFocus onPress={onStay}>
            {en.record.stay}
          </Button>
          <Button className="button button-danger" onPress={onLeave}>
            {en.record.discard}
          </Button>
          <Button
            className="button button-primary"
            onPress={() => {
              setAsked(true);
              form.save();
            }}
          >
            {en.record.saveAndLeave}
          </Button>
        </>
      }
    />
  );
}

/** Whether `search` still opens the drawer, with or without drawers above it. */
function isWithin(drawer: string | undefined, search: { open?: string }): boolean {
  if (drawer === undefined) return true;
  const open = search.open ?? "";
  return open === drawer || open.startsWith(`${drawer},`);
}
