import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback } from "react";
import { Page } from "../../frame/Page.tsx";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { lastSearch } from "../list/lastSearch.ts";
import { LinkToList, UnknownList } from "../list/UnknownList.tsx";
import { drawerOf } from "./drawers.ts";
import { RecordDrawers } from "./RecordDrawer.tsx";
import { RecordView } from "./RecordView.tsx";
import { parentRowLink } from "./parentRowLink.ts";

/** The page of a row. */
export function RecordPage(): ReactNode {
  const { entity: name, id } = useParams({ from: "/$entity/$id" });
  const { tab, open } = useSearch({ from: "/$entity/$id" });
  const navigate = useNavigate({ from: "/$entity/$id" });
  const entities = useEntities();
  const entity = entities.ofRow(name, id);
  const onTab = useCallback(
    (next: string) =>
      void navigate({
        search: (before) => ({ ...before, tab: next === "fields" ? "" : next }),
        replace: true,
      }),
    [navigate],
  );
  if (!entity) return <UnknownList name={name} />;
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
        onStep={(next) =>
          void navigate({ to: "/$entity/$id", params: { entity: name, id: next }, search: {} })
        }
        onGone={(row) => {
          const above = parentRowLink(entities, entity, row);
          if (above) void navigate({ to: "/$entity/$id", ...above });
          else
            void navigate({ to: "/$entity", params: { entity: name }, search: lastSearch(name) });
        }}
        frame={({ title, detail, actions, content }) => (
          <Page
            title={title}
            before={<LinkToList entity={entity} />}
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
