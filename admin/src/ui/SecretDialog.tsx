import { type ReactNode, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { en } from "../text/en.ts";
import { showTopDialog } from "./TopDialog.tsx";

interface Secret {
  /** The name of the row that the secret belongs to. */
  title: string;
  secret: string;
}

/** Shows a secret that the service returns only once, until the user closes the dialog. */
export function showSecret(secret: Secret): void {
  showTopDialog(<SecretDialog {...secret} />);
}

const close = () => showTopDialog(null);

function SecretDialog({ title, secret }: Secret): ReactNode {
  const [message, setMessage] = useState("");
  return (
    <ModalOverlay
      className="overlay"
      isOpen
      // Escape also leaves the reading mode of a screen reader; it must not lose what is shown only once.
      isKeyboardDismissDisabled
      onOpenChange={(isOpen) => {
        if (!isOpen) close();
      }}
    >
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">{title}</Heading>
          <p>{en.secret.hint}</p>
          <input
            className="input"
            readOnly
            aria-label={title}
            value={secret}
            onFocus={(event) => event.target.select()}
          />
          <p role="status">{message}</p>
          <div className="actions">
            <Button
              className="button"
              autoFocus
              onPress={() => {
                void copy(secret).then(setMessage);
              }}
            >
              {en.secret.copy}
            </Button>
            <Button className="button button-primary" onPress={close}>
              {en.secret.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

/** Copies a text; returns the message to show. Browsers refuse this without TLS or permission. */
async function copy(text: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(text);
    return en.secret.copied;
  } catch {
    return en.secret.notCopied;
  }
}
