import { ask } from "../../api/ask.ts";
import { deleteDocument } from "../../api/documents.ts";
import type { Entity } from "../../meta/catalogue.ts";
import type { Row } from "../../meta/kinds.tsx";
import { queryClient } from "../../session.ts";
import { en } from "../../text/en.ts";
import { showToast } from "../../ui/Toasts.tsx";
import { recordKey } from "./useRecordForm.ts";

/** Time to take a deletion back, in milliseconds. */
const undoMs = 6_000;

interface Deletion {
  entity: Entity;
  row: Row;
  name: string;
}

const waiting = new Map<Deletion, ReturnType<typeof setTimeout>>();

/** Deletes the row after some seconds, unless the person takes it back. A page that is closed deletes at once. */
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
    showToast(`${en.record.deleteFailed(name)}: ${reason}`, { tone: "bad" });
  }
  void queryClient.invalidateQueries({ queryKey: ["rows"] });
}

addEventListener("pagehide", () => {
  for (const [deletion, timer] of waiting) {
    clearTimeout(timer);
    void carryOut(deletion);
  }
});
