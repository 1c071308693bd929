import { type ReactNode, useId } from "react";
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

interface QuestionDialogProps {
  title: string;
  /** Read by screen readers together with the title. */
  text: ReactNode;
  className?: string;
  /** Called on Escape and on a click outside the dialog. */
  onCancel: () => void;
  children?: ReactNode;
  /** The buttons. */
  actions: ReactNode;
}

/** A dialog that asks before something goes on. */
export function QuestionDialog(props: QuestionDialogProps): ReactNode {
  const { title, text, className = "", onCancel, children, actions } = props;
  const id = useId();
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => {
        if (!isOpen) onCancel();
      }}
    >
      <Modal className={`dialog ${className}`}>
        <Dialog role="alertdialog" aria-describedby={id}>
          <Heading slot="title">{title}</Heading>
          <p id={id}>{text}</p>
          {children}
          <div className="actions">{actions}</div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
