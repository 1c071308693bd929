import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { nearest } from "../../../../src/text/suggest.ts";
import { Page } from "../../frame/Page.tsx";
import type { ClosedEntity, Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";

/** Shown when the URL names a list that is not in the caller's metadata. */
export function UnknownList({ name }: { name: string }): ReactNode {
  const entities = useEntities();
  // People also write the title, as `exports` for `exportJobs`.
  const known = new Map(
    entities.listed.flatMap((entity) => [
      [entity.title.toLowerCase().replaceAll(" ", ""), entity] as const,
      [entity.name, entity] as const,
    ]),
  );
  const near = [
    ...new Set(nearest(name, [...known.keys()]).flatMap((one) => known.get(one) ?? [])),
  ];
  return (
    <Unknown name={name} closed={entities.closed(name)} what={en.list.unknown(name)}>
      {near.length > 0 && (
        <p>
          {en.list.didYouMean} <LinksToLists lists={near} />?
        </p>
      )}
    </Unknown>
  );
}

interface UnknownProps {
  name: string;
  /** The list or report, if only a permission is missing. */
  closed: ClosedEntity | undefined;
  /** Says that it does not exist. */
  what: string;
  /** What the caller may have meant. */
  children?: ReactNode;
}

export function Unknown({ name, closed, what, children }: UnknownProps): ReactNode {
  return (
    <Page title={closed?.title ?? name}>
      <div className="empty" role="alert">
        <h2>{closed ? en.list.missingTitle(closed.title) : what}</h2>
        <p>{closed ? en.list.missing(closed.permission) : en.list.unknownHint}</p>
        {!closed && children}
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
  return <LinksToLists lists={lists} />;
}

function LinksToLists({ lists }: { lists: readonly Entity[] }): ReactNode {
  return lists.map(({ name, title }, index) => (
    <span key={name}>
      {index > 0 && ", "}
      <Link to="/$entity" params={{ entity: name }} search={{}}>
        {title}
      </Link>
    </span>
  ));
}
