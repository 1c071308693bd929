import { ask } from "../../api/ask.ts";
import { deleteDocument } from "../../api/recordDocuments.ts";
import { ApiError } from "../../api/errors.ts";
import { fetchRows, relatedRows } from "../../api/rows.ts";
import type { Entities, Entity, EntityRelation } from "../../meta/catalogue.ts";
import type { Row } from "../../meta/rows.ts";
import { queryClient } from "../../session.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";
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

const waiting = new Map<Deletion, ReturnType<typeof setTimeout>>();

/** Deletes the row after some seconds unless the user undoes it. Closing the page deletes it at once. */
export function deleteLater(deletion: Deletion): void {
  waiting.set(
    deletion,
    setTimeout(() => void carryOut(deletion), undoMs),
  );
  showToast(en.record.deleting(deletion.name), {
    ms: undoMs,
    action: { label: en.record.undo, run: () => takeBack(deletion) },
  });
}

function takeBack(deletion: Deletion): void {
  clearTimeout(waiting.get(deletion));
  if (waiting.delete(deletion)) showToast(en.record.kept(deletion.name));
}

async function carryOut(deletion: Deletion): Promise<void> {
  if (!waiting.delete(deletion)) return;
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
    const reason = error instanceof Error ? error.message : String(error);
    const isHindered = error instanceof ApiError && error.code === "CONFLICT";
    const hindrance = isHindered ? await hindranceOf(deletion) : null;
    const said = hindrance === null ? reason : `${reason} ${hindrance.text}`;
    showToast(`${en.record.deleteFailed(name)}: ${said}`, {
      tone: "bad",
      ...(hindrance && { action: { label: en.record.show, run: hindrance.show } }),
    });
  }
  void queryClient.invalidateQueries({ queryKey: ["rows"] });
}

/** Finds rows visible to the caller that refer to the row that could not be deleted. */
async function hindranceOf({
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
      ...relatedRows(entity, relation, other, row.id),
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
  for (const [deletion, timer] of waiting) {
    clearTimeout(timer);
    void carryOut(deletion);
  }
});
