import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ask } from "../../api/ask.ts";
import { restoreDocument } from "../../api/recordDocuments.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { Entity } from "../../meta/catalogue.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { History } from "../history/History.tsx";

/**
 * The history of a row that is no longer there, which the service shows to holders of `audit.read`, and its restoration.
 * Nothing where the caller may not see it.
 */
export function DeletedRow({ entity, id }: { entity: Entity; id: string }): ReactNode {
  const mutation = useMutation({
    mutationFn: (auditLogId: string) =>
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
    <History
      entity={entity}
      id={id}
      isOptional
      onUndelete={
        entity.canCreate && !mutation.isPending
          ? (auditLogId) => mutation.mutate(auditLogId)
          : undefined
      }
    />
  );
}
