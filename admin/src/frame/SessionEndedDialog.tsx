import type { ReactNode } from "react";
import { Dialog, Modal, ModalOverlay } from "react-aria-components";
import { LoginForm } from "../pages/LoginPage.tsx";
import { en } from "../text/en.ts";

/** Asks for a new login over the page, whose unsaved edits stay. */
export function SessionEndedDialog(): ReactNode {
  return (
    <ModalOverlay className="overlay" isOpen isKeyboardDismissDisabled>
      <Modal className="dialog">
        <Dialog aria-label={en.login.ended}>
          <h2>{en.login.ended}</h2>
          <p>{en.login.endedHint}</p>
          <LoginForm heading="none" />
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
