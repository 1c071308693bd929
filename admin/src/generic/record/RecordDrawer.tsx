import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { Icon } from "../../ui/icons.tsx";
import { KeyLayer } from "../../ui/keys.ts";
import { drawerOf, maxDrawers } from "./drawers.ts";
import { RecordView } from "./RecordView.tsx";

interface RecordDrawersProps {
  /** The rows of the drawers, the lowest first, as {@link drawerOf} writes them; empty closes all. */
  path: string;
  onPath: (path: string) => void;
}

/** Rows over the page, over each other. */
export function RecordDrawers({ path, onPath }: RecordDrawersProps): ReactNode {
  const drawers = path === "" ? [] : path.split(",").slice(0, maxDrawers);
  return drawers.length > 0 && <Drawer drawers={drawers} depth={1} onPath={onPath} />;
}

interface DrawerProps extends Pick<RecordDrawersProps, "onPath"> {
  drawers: readonly string[];
  depth: number;
}

/** One row, with the drawers above it. References open in a drawer over it. */
function Drawer({ drawers, depth, onPath }: DrawerProps): ReactNode {
  const here = drawers.slice(0, depth).join(",");
  const [name = "", key = ""] = (drawers[depth - 1] ?? "").split("/");
  const id = decodeURIComponent(key);
  const entity = useEntities().get(name);
  const navigate = useNavigate();
  const [tab, setTab] = useState("fields");
  const layer = useRef<HTMLElement>(null);
  const openPage = (other: string, otherId: string) =>
    void navigate({ to: "/$entity/$id", params: { entity: other, id: otherId }, search: {} });
  const close = () => onPath(drawers.slice(0, depth - 1).join(","));
  return (
    <ModalOverlay
      className="overlay overlay-right"
      isOpen
      isDismissable
      onOpenChange={(isOpen) => {
        if (!isOpen) close();
      }}
    >
      <Modal className="drawer">
        <Dialog ref={layer} aria-label={entity?.titleOne ?? name}>
          <KeyLayer value={layer}>
            {entity ? (
              <RecordView
                key={here}
                entity={entity}
                id={id}
                tab={tab}
                drawer={here}
                onTab={setTab}
                onOpen={(other, otherId) =>
                  depth < maxDrawers
                    ? onPath(`${here},${drawerOf(other, otherId)}`)
                    : openPage(other, otherId)
                }
                onStep={(next) =>
                  onPath([...drawers.slice(0, depth - 1), drawerOf(name, next)].join(","))
                }
                onGone={close}
                frame={({ title, detail, actions, content }) => (
                  <div className="page">
                    <header className="page-header">
                      <Button
                        className="button button-quiet icon-button"
                        aria-label={en.close}
                        onPress={close}
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
          </KeyLayer>
          {drawers.length > depth && <Drawer drawers={drawers} depth={depth + 1} onPath={onPath} />}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
