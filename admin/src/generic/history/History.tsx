import { useInfiniteQuery } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import { Button } from "react-aria-components";
import { titleOf } from "../../../../src/schema/rowNames.ts";
import { ask } from "../../api/ask.ts";
import { historyDocument } from "../../api/recordDocuments.ts";
import { type Entity, type EntityField, fieldOf } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { formatAgo, formatWithUnit, textOf } from "../../meta/format.ts";
import { missingPermission } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { formatTime } from "../../text/locale.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Failure } from "../../ui/Failure.tsx";
import { Icon } from "../../ui/icons.tsx";
import { diffWords } from "./diffWords.ts";

interface FieldChange {
  field: string;
  before: unknown;
  after: unknown;
  isRestorable: boolean;
}

interface RecordChange {
  id: string;
  at: string;
  operation: string;
  correlationId: string | null;
  source: string;
  alsoChanged: number;
  by: { id: string; name: string | null } | null;
  changes: FieldChange[];
}

export interface HistoryPage {
  history: {
    nodes: RecordChange[];
    hasNextPage: boolean;
    endCursor: string | null;
  };
}

interface HistoryProps {
  entity: Entity;
  id: string;
  /** The row as it is now, if it exists. */
  row?: Row;
  /** Sets a field of the form to its value in an old row; absent when the caller may not change the row. */
  onRestore?: (field: EntityField, old: PastRow) => void;
  /** Whether errors are not shown. */
  isOptional?: boolean;
}

/** Shows the changes of a row, newest first. */
export function History({
  entity,
  id,
  row,
  isOptional = false,
  onRestore,
}: HistoryProps): ReactNode {
  const history = useInfiniteQuery({
    queryKey: ["history", entity.name, id],
    queryFn: ({ pageParam, signal }) =>
      ask<HistoryPage>(historyDocument, { entity: entity.name, id, after: pageParam }, { signal }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ history: { hasNextPage, endCursor } }) => (hasNextPage ? endCursor : null),
    staleTime: 0,
    ...(isOptional && { retry: false }),
  });
  if (isOptional && !history.data) return null;
  if (history.isError)
    return <Failure error={history.error} onRetry={() => void history.refetch()} />;
  if (!history.data) return <p className="dim">{en.loading}</p>;
  const changes = history.data.pages.flatMap((page) => page.history.nodes);
  if (changes.length === 0) return <p className="dim">{enRecord.history.empty}</p>;
  return (
    <>
      <ol className="history">
        {withRows(changes, row).map(({ change, before, after }, index) => (
          <li key={change.id}>
            <p>
              <time
                id={`change-${change.id}`}
                dateTime={change.at}
                title={formatTime(change.at)}
                className="dim"
              >
                {formatAgo(change.at)}
              </time>{" "}
              {describeChange(change, index < changes.length - 1 || history.hasNextPage)}
              {change.alsoChanged > 0 && (
                <span className="dim"> {enRecord.history.also(change.alsoChanged)}</span>
              )}
            </p>
            {change.operation.toUpperCase().startsWith("UPDATE") && (
              <ul>
                {change.changes.map((item) => (
                  <Change
                    key={item.field}
                    describedBy={`change-${change.id}`}
                    {...{ entity, change: item, rows: { before, after }, onRestore }}
                  />
                ))}
              </ul>
            )}
          </li>
        ))}
      </ol>
      {history.hasNextPage && (
        <Button className="button" onPress={() => void history.fetchNextPage()}>
          {enRecord.history.more}
        </Button>
      )}
    </>
  );
}

/** A row at some time, as far as it is known. */
export type PastRow = Readonly<Record<string, unknown>>;

/** Adds the row before and after each change to the changes, which are the newest first. */
function withRows(changes: readonly RecordChange[], row: PastRow = {}) {
  let later = row;
  const valuesOf = ({ changes }: RecordChange, time: "before" | "after") =>
    Object.fromEntries(changes.map((item) => [item.field, item[time]]));
  return changes.map((change) => {
    // The row can be older than its last change.
    const after = { ...later, ...valuesOf(change, "after") };
    const before = { ...after, ...valuesOf(change, "before") };
    later = before;
    return { change, before, after };
  });
}

const sources: Record<string, string> = {
  job: enRecord.history.job,
  db: enRecord.history.database,
};

export const isDeletion = ({ operation }: Pick<RecordChange, "operation">): boolean =>
  operation.toUpperCase().startsWith("DELETE");

/** Describes a change in one sentence. A row with earlier changes is not created but restored. */
function describeChange(
  { by, source, operation }: RecordChange,
  hasEarlierChanges: boolean,
): string {
  const nobody = source === "db" ? enRecord.conflict.somebody : enRecord.history.service;
  const who = by === null ? nobody : (by.name ?? enRecord.history.nameless);
  const how = sources[source.toLowerCase()] ?? "";
  const verb = operation.toUpperCase();
  const did =
    verb.startsWith("INSERT") || verb.startsWith("CREATE")
      ? hasEarlierChanges
        ? enRecord.history.restored
        : enRecord.history.created
      : isDeletion({ operation })
        ? enRecord.history.deleted
        : enRecord.history.changedIt;
  return [who, did, how].filter((part) => part !== "").join(" ");
}

function Change({
  entity,
  change: { field: name, before, after, isRestorable },
  rows,
  describedBy,
  onRestore,
}: {
  entity: Entity;
  /** The id of the element with the time of the change. */
  describedBy: string;
  change: FieldChange;
  rows: { before: PastRow; after: PastRow };
  onRestore: HistoryProps["onRestore"];
}): ReactNode {
  const field = fieldOf(entity, name);
  const title = field?.title ?? titleOf(name);
  return (
    <li>
      <span className="label">{title}</span>{" "}
      <span className="values">
        <Values {...{ field, before, after, rows }} />
      </span>
      {field && isRestorable && onRestore && field.onUpdate !== "NO" && (
        <Button
          className="button button-quiet icon-button"
          aria-label={enRecord.history.putBack(title)}
          aria-describedby={describedBy}
          onPress={() => onRestore(field, rows.before)}
        >
          <Icon name="revert" />
        </Button>
      )}
    </li>
  );
}

function Values({
  field,
  before,
  after,
  rows,
}: {
  field: EntityField | undefined;
  before: unknown;
  after: unknown;
  rows: { before: PastRow; after: PastRow };
}): ReactNode {
  const entities = useEntities();
  const hint = field && missingPermission(entities, field);
  const isText = typeof before === "string" && typeof after === "string";
  if (isText && (field === undefined || field.kind === "TEXT") && /\s/.test(before + after))
    return diffWords(before, after).map(({ kind, text }, index) =>
      kind === "same" ? (
        <span key={index}>{text}</span>
      ) : kind === "added" ? (
        <ins key={index}>{text}</ins>
      ) : (
        // A space, which the words of the value that follows do not begin with.
        <Fragment key={index}>
          <del>{text}</del>{" "}
        </Fragment>
      ),
    );
  const old = formatShown(field, before, rows.before);
  const fresh = formatShown(field, after, rows.after);
  // A dash for no value, struck through, would look like another sign.
  return (
    <>
      {old === en.none ? <span className="dim">{old}</span> : <del title={hint}>{old}</del>}
      {"\u2002→\u2002"}
      {fresh === en.none ? <span className="dim">{fresh}</span> : <ins title={hint}>{fresh}</ins>}
    </>
  );
}

function formatShown(field: EntityField | undefined, value: unknown, row: PastRow): string {
  // A reference has the name of its row. There is no name of a row that was deleted or that the caller may not see.
  if (typeof value === "object" && value !== null && "name" in value && "id" in value)
    return textOf(value.name) || enRecord.notVisibleOrDeleted;
  return field ? formatWithUnit(field, value, row) : textOf(value) || en.none;
}
