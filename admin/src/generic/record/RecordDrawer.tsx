import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { Button } from "react-aria-components";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { Icon } from "../../ui/icons.tsx";
import { drawerOf, maxDrawers } from "./drawers.ts";
import { RecordView } from "./RecordView.tsx";

interface RecordDrawersProps {
  /** The rows in drawers from bottom to top, each as from {@link drawerOf}, separated by commas; empty without drawers. */
  path: string;
  onPath: (path: string) => void;
}

/** Shows rows in stacked drawers above the page. */
export function RecordDrawers({ path, onPath }: RecordDrawersProps): ReactNode {
  const drawers = path === "" ? [] : path.split(",").slice(0, maxDrawers);
  return drawers.length > 0 && <RecordDrawer drawers={drawers} depth={1} onPath={onPath} />;
}

interface RecordDrawerProps extends Pick<RecordDrawersProps, "onPath"> {
  drawers: readonly string[];
  depth: number;
}

/** A drawer with one row, and the drawers above it. References open in a further drawer. */
function RecordDrawer({ drawers, depth, onPath }: RecordDrawerProps): ReactNode {
  const here = drawers.slice(0, depth).join(",");
  const [name = "", key = ""] = (drawers[depth - 1] ?? "").split("/");
  const id = decodeURIComponent(key);
  const entity = useEntities().get(name);
  const navigate = useNavigate();
  const [tab, setTab] = useState("fields");
  const openPage = (other: string, otherId: string) =>
    void navigate({ to: "/$entity/$id", params: { entity: other, id: otherId }, search: {} });
  const close = () => onPath(drawers.slice(0, depth - 1).join(","));
  return (
    <Drawer label={entity?.titleOne ?? name} onClose={close}>
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
            <DrawerPage
              title={title}
              detail={detail}
              actions={
                <>
                  <Button className="button" onPress={() => openPage(name, id)}>
                    <Icon name="open" />
                    {en.record.open(entity.titleOne)}
                  </Button>
                  {actions}
                </>
              }
            >
              {content}
            </DrawerPage>
          )}
        />
      ) : (
        <p className="empty">{en.list.unknown(name)}</p>
      )}
      {drawers.length > depth && (
        <RecordDrawer drawers={drawers} depth={depth + 1} onPath={onPath} />
      )}
    </Drawer>
  );
}
