import { type ReactNode, useState, useSyncExternalStore } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { en } from "../text/en.ts";

interface Secret {
  /** The name of the row that the secret belongs to. */
  title: string;
  secret: string;
}

let shown: Secret | null = null;
const listeners = new Set<() => void>();

/** Shows a secret that the service returns only once, until the user closes the dialog. */
export function showSecret(secret: Secret | null): void {
  shown = secret;
  for (const listener of listeners) listener();
}

export function SecretDialog(): ReactNode {
  const [message, setMessage] = useState("");
  const secret = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => shown,
  );
  const close = () => {
    setMessage("");
    showSecret(null);
  };
  return (
    <ModalOverlay
      className="overlay"
      isOpen={secret !== null}
      onOpenChange={(isOpen) => {
        if (!isOpen) close();
      }}
    >
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">{secret?.title}</Heading>
          <p>{en.secret.hint}</p>
          <input
            className="input"
            readOnly
            aria-label={secret?.title}
            value={secret?.secret ?? ""}
            onFocus={(event) => event.target.select()}
          />
          <p role="status">{message}</p>
          <div className="actions">
            <Button
              className="button"
              autoFocus
              onPress={() => {
                void copy(secret?.secret ?? "").then(setMessage);
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
