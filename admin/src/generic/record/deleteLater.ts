import { ask } from "../../api/ask.ts";
import { deleteDocument } from "../../api/recordDocuments.ts";
import { ApiError } from "../../api/errors.ts";
import { fetchRows, relatedRowsRequest } from "../../api/rows.ts";
import type { Entities, Entity, EntityRelation } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { queryClient } from "../../session.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { markDeleted } from "../list/deletedRows.ts";
import { recordKey } from "./useRecordForm.ts";

/** The time in which a deletion can be undone. */
const undoMs = 6_000;

interface Deletion {
  entity: Entity;
  row: Row;
  name: string;
  entities: Entities;
  /** Opens the rows that prevent the deletion. */
  onShow: (relation: EntityRelation) => void;
}

const pendingDeletions = new Set<Deletion>();

/**
 * Deletes the row after some seconds unless the user undoes it; the pointer or the focus in the message holds the time.
 * Closing the message or the page deletes it at once.
 */
export function deleteLater(deletion: Deletion): void {
  pendingDeletions.add(deletion);
  markDeleted(deletion.entity.name, deletion.row.id, true);
  showToast(en.record.deleting(deletion.name), {
    ms: undoMs,
    action: { label: en.record.undo, isUndo: true, run: () => cancelDeletion(deletion) },
    onEnd: () => void executeDeletion(deletion),
  });
}

function cancelDeletion(deletion: Deletion): void {
  if (!pendingDeletions.delete(deletion)) return;
  markDeleted(deletion.entity.name, deletion.row.id, false);
  showToast(en.record.kept(deletion.name));
}

async function executeDeletion(deletion: Deletion): Promise<void> {
  if (!pendingDeletions.delete(deletion)) return;
  const { entity, row, name } = deletion;
  try {
    await ask(
      deleteDocument(entity),
      { id: row.id, ifVersion: row.rowVersion ?? null },
      { idempotencyKey: crypto.randomUUID(), outlivesPage: true },
    );
    queryClient.removeQueries({ queryKey: recordKey(entity.name, row.id) });
    showToast(en.record.deleted(name));
  } catch (error) {
    markDeleted(entity.name, row.id, false);
    const reason = error instanceof Error ? error.message : String(error);
    const isConflict = error instanceof ApiError && error.code === "CONFLICT";
    const referring = isConflict ? await findReferringRows(deletion) : null;
    const message = referring === null ? reason : referring.text;
    showToast(`${en.record.deleteFailed(name)}: ${message}`, {
      tone: "bad",
      ...(referring && { action: { label: en.record.show, run: referring.show } }),
    });
  }
  await queryClient.invalidateQueries({ queryKey: ["rows"] });
  markDeleted(entity.name, row.id, false);
}

/** Finds rows visible to the caller that refer to the row that could not be deleted. */
async function findReferringRows({
  entity,
  row,
  onShow,
  entities,
}: Deletion): Promise<{ text: string; show: () => void } | null> {
  for (const relation of entity.relations) {
    const other = entities.get(relation.entity);
    if (!other) continue;
    const found = await fetchRows(entities, {
      entity: other,
      columns: [],
      order: [],
      ...relatedRowsRequest(entity, relation, other, row.id),
      first: 1,
      offset: 0,
      count: true,
    }).catch(() => null);
    const count = found?.totalCount ?? 0;
    if (count > 0)
      return {
        text: en.record.referredBy(count, count === 1 ? other.titleOne : other.title),
        show: () => onShow(relation),
      };
  }
  return null;
}

addEventListener("pagehide", () => {
  for (const deletion of pendingDeletions) void executeDeletion(deletion);
});
