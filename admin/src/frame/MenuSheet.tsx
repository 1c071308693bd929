import type { ComponentProps, ReactNode } from "react";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { en } from "../text/en.ts";
import { Navigation } from "./Navigation.tsx";

interface MenuSheetProps extends ComponentProps<typeof Navigation> {
  onOpenChange: (isOpen: boolean) => void;
}

/** The navigation over the page, in narrow windows. */
export function MenuSheet({ onOpenChange, ...navigation }: MenuSheetProps): ReactNode {
  return (
    <ModalOverlay className="overlay overlay-left" isDismissable isOpen onOpenChange={onOpenChange}>
      <Modal className="sheet">
        <Dialog aria-label={en.frame.navigation}>
          <Navigation {...navigation} />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
