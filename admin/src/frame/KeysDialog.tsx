import type { ReactNode } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { setPreferences, usePreferences } from "../preferences.ts";
import { en } from "../text/en.ts";
import { keyTable } from "../ui/keys.ts";

interface KeysDialogProps {
  onOpenChange: (isOpen: boolean) => void;
}

/** Lists all shortcuts, and enables or disables those of a single letter. */
export function KeysDialog({ onOpenChange }: KeysDialogProps): ReactNode {
  const { singleKeys } = usePreferences();
  return (
    <ModalOverlay className="overlay" isDismissable isOpen onOpenChange={onOpenChange}>
      <Modal className="dialog">
        <Dialog>
          <Heading slot="title">{en.keys.title}</Heading>
          <label>
            <input
              type="checkbox"
              checked={singleKeys}
              onChange={(event) => setPreferences({ singleKeys: event.target.checked })}
            />{" "}
            {en.keys.off}
          </label>
          {keyTable.map(({ title, keys }) => (
            <div key={title}>
              <h3>{title}</h3>
              <dl className="keys">
                {keys.map(([key, does]) => (
                  <div key={key}>
                    <dt>
                      <kbd>{key}</kbd>
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
              </dl>
            </div>
          ))}
          <div className="actions">
            <Button className="button" slot="close">
              {en.close}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
