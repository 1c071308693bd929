import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { deletionsDocument, restoreDocument } from "../../api/recordDocuments.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { Entity } from "../../meta/entities.ts";
import { formatAgo } from "../../meta/format.ts";
import { formatTime } from "../../text/locale.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { History } from "../history/History.tsx";

interface Deletion {
  auditLogId: string;
  label: string | null;
  deletedAt: string;
  userName: string | null;
}

/**
 * Shown in place of a row that does not exist: a button to restore it for callers who may create such rows, and its
 * history for callers with `audit.read`.
 */
export function DeletedRow({ entity, id }: { entity: Entity; id: string }): ReactNode {
  const { data } = useQuery({
    queryKey: ["deletion", id],
    queryFn: ({ signal }) => ask<{ deletions: Deletion[] }>(deletionsDocument, { id }, { signal }),
    enabled: entity.canCreate !== null,
    staleTime: 0,
  });
  const [deletion] = data?.deletions ?? [];
  return (
    <>
      {deletion && <Undelete deletion={deletion} />}
      {entity.hasHistory && <History entity={entity} id={id} isOptional />}
    </>
  );
}

function Undelete({ deletion }: { deletion: Deletion }): ReactNode {
  const { auditLogId, label, deletedAt, userName } = deletion;
  const mutation = useMutation({
    mutationFn: () =>
      ask<{ restored: number }>(
        restoreDocument,
        { auditLogId },
        { idempotencyKey: crypto.randomUUID() },
      ),
    onSuccess: ({ restored }) => showToast(en.history.undeleted(restored)),
    onError: (error) => showToast(`${en.history.notUndeleted}. ${error.message}`, { tone: "bad" }),
    onSettled: refetchRows,
  });
  return (
    <p>
      {en.history.deletedBy(label, userName)}{" "}
      <time dateTime={deletedAt} title={formatTime(deletedAt)} className="dim">
        {formatAgo(deletedAt)}
      </time>{" "}
      <Button
        className="button"
        isDisabled={mutation.isPending}
        onPress={() => {
          mutation.mutate();
        }}
      >
        {en.history.undelete}
      </Button>
    </p>
  );
}
