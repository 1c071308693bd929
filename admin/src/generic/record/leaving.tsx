import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useEffect, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { en } from "../../text/en.ts";
import type { RecordForm } from "./useRecordForm.ts";

export function SaveButton({ form }: { form: RecordForm }): ReactNode {
  const count = form.edits.length;
  return (
    <Button
      className="button button-primary"
      isDisabled={form.dirty.length === 0}
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
  /** The address of the drawer around the form. */
  drawer?: string | undefined;
}

/** Asks before edits are lost: by a link, by Back, by closing the drawer or the tab. */
export function LeaveGuard({ form, drawer }: LeaveGuardProps): ReactNode {
  const isDirty = form.edits.length > 0;
  const blocker = useBlocker({
    // Another tab of the same record, or a drawer above it, leaves nothing.
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

/** Asks whether edits are saved, lost or kept on the screen. */
export function LeaveDialog({ form, onStay, onLeave }: LeaveDialogProps): ReactNode {
  const isDirty = form.edits.length > 0;
  const [isAsked, setAsked] = useState(false);
  const hasTrouble =
    isAsked &&
    !form.isSaving &&
    (form.conflict !== null || form.problem !== null || Object.keys(form.errors).length > 0);
  useEffect(() => {
    // Saved from the dialog: there is nothing left to ask about.
    if (!isDirty) onLeave();
    // Not saved: the form shows errors and questions.
    else if (hasTrouble) onStay();
  }, [isDirty, hasTrouble, onLeave, onStay]);
  return (
    <ModalOverlay className="overlay" isOpen onOpenChange={onStay} isDismissable>
      <Modal className="dialog">
        <Dialog role="alertdialog">
          <Heading slot="title">{en.record.leaveTitle}</Heading>
          <p>{en.record.leaveHint(form.edits.length)}</p>
          <div className="actions">
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
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Whether the address `search` still shows the drawer, or other ones over it. */
function isWithin(drawer: string | undefined, search: { open?: string }): boolean {
  if (drawer === undefined) return true;
  const open = search.open ?? "";
  return open === drawer || open.startsWith(`${drawer},`);
}
