import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import { RecordView } from "./RecordView.tsx";

interface RecordDrawerProps {
  entity: string;
  id: string;
  onClose: () => void;
}

/** How many drawers stand over each other; what goes deeper opens as a page. */
const maxDepth = 3;

/** One row over the page. References open in drawers over it. */
export function RecordDrawer({
  entity: name,
  id,
  onClose,
  depth = 1,
}: RecordDrawerProps & { depth?: number }): ReactNode {
  const entity = useEntities().get(name);
  const navigate = useNavigate();
  const [tab, setTab] = useState("fields");
  const [above, setAbove] = useState<{ entity: string; id: string } | null>(null);
  const openPage = (other: string, otherId: string) =>
    void navigate({ to: "/$entity/$id", params: { entity: other, id: otherId }, search: {} });
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
        <Dialog aria-label={entity?.titleOne ?? name}>
          {entity ? (
            <RecordView
              entity={entity}
              id={id}
              tab={tab}
              onTab={setTab}
              onOpen={(other, otherId) =>
                depth < maxDepth
                  ? setAbove({ entity: other, id: otherId })
                  : openPage(other, otherId)
              }
              onGone={onClose}
              frame={({ title, detail, actions, content }) => (
                <div className="page">
                  <header className="page-header">
                    <Button
                      className="button button-quiet icon-button"
                      aria-label={en.close}
                      onPress={onClose}
                    >
                      <Icon name="close" />
                    </Button>
                    <Heading slot="title">{title}</Heading>
                    <span className="dim">{detail}</span>
                    <span className="grow" />
                    <Button className="button" onPress={() => openPage(name, id)}>
                      <Icon name="open" />
                      {en.record.open(entity.titleOne.toLowerCase())}
                    </Button>
                    {actions}
                  </header>
                  <div className="page-body">{content}</div>
                </div>
              )}
            />
          ) : (
            <p className="empty">{en.list.unknown(name)}</p>
          )}
          {above && (
            <RecordDrawer
              entity={above.entity}
              id={above.id}
              depth={depth + 1}
              onClose={() => setAbove(null)}
            />
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
