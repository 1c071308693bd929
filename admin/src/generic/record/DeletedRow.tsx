import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { deletionsDocument, historyDocument, restoreDocument } from "../../api/recordDocuments.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { formatAgo } from "../../meta/format.ts";
import { formatTime } from "../../text/locale.ts";
import { enRecord } from "../../text/enRecord.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { History, type HistoryPage, isDeletion } from "../history/History.tsx";

interface Deletion {
  auditLogId: string;
  label: string | null;
  deletedAt: string;
  userName: string | null;
}

/** The deletion of a row that the caller may undo. */
function useDeletion(entity: Entity, id: string): Deletion | undefined {
  const { data } = useQuery({
    queryKey: ["deletion", id],
    queryFn: ({ signal }) => ask<{ deletions: Deletion[] }>(deletionsDocument, { id }, { signal }),
    enabled: entity.canCreate !== null,
    staleTime: 0,
  });
  return data?.deletions[0];
}

/**
 * Shown in place of a row that does not exist: a button to restore it for callers who may create such rows, and its
 * history for callers with `audit.read`.
 */
export function DeletedRow({ entity, id }: { entity: Entity; id: string }): ReactNode {
  const deletion = useDeletion(entity, id);
  return (
    <>
      {deletion && (
        <p>
          <DeletedBy {...deletion} />{" "}
          <RestoreButton auditLogId={deletion.auditLogId} label={enRecord.history.undelete} />
        </p>
      )}
      {entity.hasHistory && <History entity={entity} id={id} isOptional />}
    </>
  );
}

interface DeletedWhileEditedProps {
  entity: Entity;
  id: string;
  /** Saves the edits in the restored row. */
  onRestored: () => Promise<void>;
}

/** Shown above a form with edits when its row was deleted. Offers to restore the row and to save the edits in it. */
export function DeletedWhileEdited({ entity, id, onRestored }: DeletedWhileEditedProps): ReactNode {
  const { permissions } = useEntities().metadata.me;
  const deletion = useDeletion(entity, id);
  const history = useQuery({
    queryKey: ["history", entity.name, id, "deletion"],
    queryFn: ({ signal }) =>
      ask<HistoryPage>(historyDocument, { entity: entity.name, id, after: null }, { signal }),
    enabled: deletion === undefined && entity.hasHistory && permissions.includes("audit.read"),
    retry: false,
  });
  const logged = history.data?.history.nodes.find(isDeletion);
  return (
    <div className="notice" role="alert">
      <p>
        {deletion ? (
          <DeletedBy {...deletion} />
        ) : logged ? (
          <DeletedBy label={null} userName={logged.by?.name ?? null} deletedAt={logged.at} />
        ) : (
          enRecord.gone
        )}{" "}
        {enRecord.goneEditsKept}
      </p>
      {deletion && (
        <RestoreButton
          auditLogId={deletion.auditLogId}
          label={enRecord.restoreAndSave}
          onRestored={onRestored}
        />
      )}
    </div>
  );
}

function DeletedBy({ label, userName, deletedAt }: Omit<Deletion, "auditLogId">): ReactNode {
  return (
    <>
      {enRecord.history.deletedBy(label, userName)}{" "}
      <time dateTime={deletedAt} title={formatTime(deletedAt)} className="dim">
        {formatAgo(deletedAt)}
      </time>
    </>
  );
}

interface RestoreButtonProps {
  auditLogId: string;
  label: string;
  onRestored?: () => Promise<void>;
}

function RestoreButton({ auditLogId, label, onRestored }: RestoreButtonProps): ReactNode {
  const mutation = useMutation({
    mutationFn: async () => {
      const { restored } = await ask<{ restored: number }>(
        restoreDocument,
        { auditLogId },
        { idempotencyKey: crypto.randomUUID() },
      );
      showToast(enRecord.history.undeleted(restored));
      await onRestored?.();
    },
    onError: (error) =>
      showToast(`${enRecord.history.notUndeleted}. ${error.message}`, { tone: "bad" }),
    onSettled: refetchRows,
  });
  return (
    <Button
      className="button"
      isDisabled={mutation.isPending}
      onPress={() => {
        mutation.mutate();
      }}
    >
      {label}
    </Button>
  );
}
