import { type ReactNode, useRef } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { en } from "../text/en.ts";
import { Icon } from "./icons.tsx";
import { KeyLayer } from "./keys.ts";
import { useAnnouncedTitle } from "./useAnnouncedTitle.ts";

interface DrawerProps {
  /** The label for screen readers. */
  label: string;
  /** Called by the button, on Escape and on a click outside the drawer. */
  onClose: () => void;
  children: ReactNode;
}

/** A dialog at the right edge, above the page and other drawers. Its shortcuts work while it is the topmost dialog. */
export function Drawer({ label, onClose, children }: DrawerProps): ReactNode {
  const layer = useRef<HTMLElement>(null);
  return (
    <ModalOverlay
      className="overlay overlay-right"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => {
        if (!isOpen) onClose();
      }}
    >
      <Modal className="drawer">
        <Dialog ref={layer} aria-label={label}>
          {/* Not in the header, which is replaced when the row arrives: a press at that moment would be lost. */}
          <Button
            className="button button-quiet icon-button drawer-close"
            aria-label={en.close}
            onPress={onClose}
          >
            <Icon name="close" />
          </Button>
          <KeyLayer value={layer}>{children}</KeyLayer>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface DrawerPageProps {
  title: string;
  detail?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** Header and body of a drawer. */
export function DrawerPage({ title, detail, actions, children }: DrawerPageProps): ReactNode {
  useAnnouncedTitle(title);
  return (
    <div className="page">
      <header className="page-header">
        <Heading slot="title">{title}</Heading>
        <span className="dim">{detail}</span>
        <span className="grow" />
        {actions}
      </header>
      <div className="page-body">{children}</div>
    </div>
  );
}
