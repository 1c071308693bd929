import type { ReactNode } from "react";
import { Page } from "../../frame/Page.tsx";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";

/** The address names a list that the caller's catalogue does not have. */
export function NoList({ name }: { name: string }): ReactNode {
  const closed = useEntities().closed(name);
  return (
    <Page title={closed?.title ?? name}>
      <div className="empty" role="alert">
        <h2>{closed ? en.list.missingTitle(closed.title) : en.list.unknown(name)}</h2>
        <p>{closed ? en.list.missing(closed.permission) : en.list.unknownHint}</p>
      </div>
    </Page>
  );
}
