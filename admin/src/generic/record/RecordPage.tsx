import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback } from "react";
import { Page } from "../../frame/Page.tsx";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { NoList } from "../list/NoList.tsx";
import { drawerOf } from "./drawers.ts";
import { RecordDrawers } from "./RecordDrawer.tsx";
import { RecordView } from "./RecordView.tsx";

/** The page of one row. */
export function RecordPage(): ReactNode {
  const { entity: name, id } = useParams({ from: "/$entity/$id" });
  const { tab, open } = useSearch({ from: "/$entity/$id" });
  const navigate = useNavigate({ from: "/$entity/$id" });
  const entity = useEntities().get(name);
  const onTab = useCallback(
    (next: string) =>
      void navigate({
        search: (before) => ({ ...before, tab: next === "fields" ? "" : next }),
        replace: true,
      }),
    [navigate],
  );
  if (!entity) return <NoList name={name} />;
  const openDrawer = (other: string, otherId: string) =>
    void navigate({ search: (before) => ({ ...before, open: drawerOf(other, otherId) }) });
  return (
    <>
      <RecordView
        entity={entity}
        id={id}
        tab={tab ?? "fields"}
        onTab={onTab}
        onOpen={openDrawer}
        onGone={() => void navigate({ to: "/$entity", params: { entity: name }, search: {} })}
        frame={({ title, detail, actions, content }) => (
          <Page
            title={title}
            before={
              <Link to="/$entity" params={{ entity: name }} search={{}}>
                {entity.title}
              </Link>
            }
            beside={detail}
            actions={actions}
          >
            {content}
          </Page>
        )}
      />
      <RecordDrawers
        path={open ?? ""}
        onPath={(path) => void navigate({ search: (before) => ({ ...before, open: path }) })}
      />
    </>
  );
}
