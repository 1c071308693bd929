import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Page } from "../../frame/Page.tsx";
import type { ClosedEntity, Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";

/** Shown when the URL names a list that is not in the caller's metadata. */
export function UnknownList({ name }: { name: string }): ReactNode {
  return <Unknown name={name} closed={useEntities().closed(name)} what={en.list.unknown(name)} />;
}

interface UnknownProps {
  name: string;
  /** The list or report, if only a permission is missing. */
  closed: ClosedEntity | undefined;
  /** Says that it does not exist. */
  what: string;
}

export function Unknown({ name, closed, what }: UnknownProps): ReactNode {
  return (
    <Page title={closed?.title ?? name}>
      <div className="empty" role="alert">
        <h2>{closed ? en.list.missingTitle(closed.title) : what}</h2>
        <p>{closed ? en.list.missing(closed.permission) : en.list.unknownHint}</p>
      </div>
    </Page>
  );
}

/** Shown for a table without a list, such as prices: its rows are shown with their parent rows. */
export function ChildTableNotice({ entity }: { entity: Entity }): ReactNode {
  return (
    <Page title={entity.title}>
      <div className="empty">
        <h2>{en.list.below(entity.title)}</h2>
        <p>
          <LinkToList entity={entity} />
        </p>
      </div>
    </Page>
  );
}

/** A link to the list of a table, or to the lists of its parent tables. */
export function LinkToList({ entity }: { entity: Entity }): ReactNode {
  const entities = useEntities();
  const lists =
    entity.listField === null
      ? entity.parents.flatMap((parent) => entities.get(parent.entity) ?? [])
      : [entity];
  return lists.map(({ name, title }, index) => (
    <span key={name}>
      {index > 0 && ", "}
      <Link to="/$entity" params={{ entity: name }} search={{}}>
        {title}
      </Link>
    </span>
  ));
}
