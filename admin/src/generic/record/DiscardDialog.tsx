import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import { en } from "../../text/en.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";

interface DiscardDialogProps {
  title: string;
  text: string;
  onStay: () => void;
  onDiscard: () => void;
}

/** Asks before what was filled in is lost. */
export function DiscardDialog({ title, text, onStay, onDiscard }: DiscardDialogProps): ReactNode {
  return (
    <QuestionDialog
      title={title}
      text={text}
      onCancel={onStay}
      actions={
        <>
          <Button className="button" autoFocus onPress={onStay}>
            {en.record.stay}
          </Button>
          <Button className="button button-danger" onPress={onDiscard}>
            {en.record.discard}
          </Button>
        </>
      }
    />
  );
}
