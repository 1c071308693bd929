import type { ReactNode } from "react";
import { Page } from "../../frame/Page.tsx";
import { en } from "../../text/en.ts";

/** The address names a list that the caller's catalogue does not have. */
export function NoList({ name }: { name: string }): ReactNode {
  return (
    <Page title={name}>
      <div className="empty" role="alert">
        <h2>{en.list.unknown(name)}</h2>
        <p>{en.list.unknownHint}</p>
      </div>
    </Page>
  );
}
