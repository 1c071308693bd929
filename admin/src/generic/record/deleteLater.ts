import { ask } from "../../api/ask.ts";
import { deleteDocument } from "../../api/recordDocuments.ts";
import { ApiError } from "../../api/errors.ts";
import { fetchRows, relatedRowsRequest } from "../../api/rows.ts";
import type { Entities, Entity, EntityRelation } from "../../meta/entities.ts";
import { rowName } from "../../meta/kinds.tsx";
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
  rows: readonly Row[];
  /** The number of further rows that the user has selected and may not delete. */
  kept?: number;
  /** The row, or the number of rows, in messages. */
  name: string;
  entities: Entities;
  /** Opens the rows that prevent the deletion of a row. */
  onShow: (row: Row, relation: EntityRelation) => void;
}

const pendingDeletions = new Set<Deletion>();

/**
 * Deletes the rows after some seconds unless the user undoes it; the pointer or the focus in the message holds the time.
 * Closing the message or the page deletes them at once.
 */
export function deleteLater(deletion: Deletion): void {
  pendingDeletions.add(deletion);
  mark(deletion, true);
  showToast(en.record.deleting(deletion.name, deletion.kept ?? 0), {
    ms: undoMs,
    action: { label: en.record.undo, isUndo: true, run: () => cancelDeletion(deletion) },
    onEnd: () => void executeDeletion(deletion),
  });
}

function cancelDeletion(deletion: Deletion): void {
  if (!pendingDeletions.delete(deletion)) return;
  mark(deletion, false);
  showToast(en.record.kept(deletion.name, deletion.rows.length));
}

function mark({ entity, rows }: Deletion, isDeleted: boolean): void {
  for (const { id } of rows) markDeleted(entity.name, id, isDeleted);
}

async function executeDeletion(deletion: Deletion): Promise<void> {
  if (!pendingDeletions.delete(deletion)) return;
  const { entity, rows, name } = deletion;
  // All at once, because the page may be closing.
  const outcomes = await Promise.allSettled(rows.map((row) => deleteRow(entity, row)));
  const failed = outcomes.flatMap((outcome, place) => {
    const row = rows[place];
    return outcome.status === "rejected" && row ? [{ row, error: outcome.reason as unknown }] : [];
  });
  const [first] = failed;
  if (first === undefined) showToast(en.record.deleted(name, rows.length));
  else {
    for (const { row } of failed) markDeleted(entity.name, row.id, false);
    await tellFailure(deletion, first, rows.length - failed.length);
  }
  await queryClient.invalidateQueries({ queryKey: ["rows"] });
  mark(deletion, false);
}

async function deleteRow(entity: Entity, row: Row): Promise<void> {
  await ask(
    deleteDocument(entity),
    { id: row.id, ifVersion: row.rowVersion ?? null },
    { idempotencyKey: crypto.randomUUID(), outlivesPage: true },
  );
  queryClient.removeQueries({ queryKey: recordKey(entity.name, row.id) });
}

async function tellFailure(
  deletion: Deletion,
  { row, error }: { row: Row; error: unknown },
  done: number,
): Promise<void> {
  const { entity, rows, name } = deletion;
  const reason = error instanceof Error ? error.message : String(error);
  const isConflict = error instanceof ApiError && error.code === "CONFLICT";
  const referring = isConflict ? await findReferringRows(deletion, row) : null;
  const message = referring === null ? reason : referring.text;
  showToast(
    rows.length === 1
      ? `${en.record.deleteFailed(name)}: ${message}`
      : en.record.deletedSome(done, rows.length, rowName(entity, row), message),
    { tone: "bad", ...(referring && { action: { label: en.record.show, run: referring.show } }) },
  );
}

/** Finds rows visible to the caller that refer to the row that could not be deleted. */
async function findReferringRows(
  { entity, onShow, entities }: Deletion,
  row: Row,
): Promise<{ text: string; show: () => void } | null> {
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
        show: () => onShow(row, relation),
      };
  }
  return null;
}

addEventListener("pagehide", () => {
  for (const deletion of pendingDeletions) void executeDeletion(deletion);
});
