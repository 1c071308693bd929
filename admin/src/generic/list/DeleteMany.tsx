import { useMutation, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Button } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import type { Entity } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { type ManyRows, deleteMany } from "./manyRows.ts";

interface DeleteManyProps {
  entity: Entity;
  rows: ManyRows;
  onClose: () => void;
  /** Called when the rows are deleted. */
  onDone: () => void;
}

/** Asks before many rows are deleted by one request. A dry run says how many there are, and whether they can be deleted. */
export function DeleteMany({ entity, rows, onClose, onDone }: DeleteManyProps): ReactNode {
  const askOnce = useAskOnce();
  const check = useQuery({
    queryKey: ["deletedRows", entity.name, rows.chosen],
    queryFn: () => deleteMany(ask, entity, { rows, dryRun: true }),
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
  });
  const remove = useMutation({
    mutationFn: () => deleteMany(askOnce, entity, { rows, dryRun: false }),
    onSuccess: ({ changed }) => {
      showToast(en.record.deleted(en.list.counted(changed, entity), changed));
      onDone();
    },
    onSettled: refetchRows,
  });
  const count = check.data?.changed ?? rows.count;
  const counted = en.list.counted(count, entity);
  const error = remove.error ?? check.error;
  const isPossible = check.data !== undefined && count > 0 && error === null;
  return (
    <QuestionDialog
      title={
        error === null
          ? enRecord.many.deleteTitle(counted)
          : enRecord.many.notDeleted(counted, count)
      }
      text={textOf({
        isChecking: check.isPending,
        canRestore: entity.canCreate !== null,
        count,
        error,
      })}
      onCancel={() => {
        if (!remove.isPending) onClose();
      }}
      actions={
        <>
          <Button className="button" autoFocus onPress={onClose} isDisabled={remove.isPending}>
            {isPossible || check.isPending ? en.cancel : en.close}
          </Button>
          {isPossible && (
            <Button
              className="button button-danger"
              onPress={() => {
                if (!remove.isPending) remove.mutate();
              }}
            >
              {remove.isPending ? enRecord.many.deleting : enRecord.many.delete(counted)}
            </Button>
          )}
        </>
      }
    />
  );
}

function textOf({
  isChecking,
  canRestore,
  count,
  error,
}: {
  isChecking: boolean;
  canRestore: boolean;
  count: number;
  error: Error | null;
}): string {
  if (error !== null) return error.message;
  if (isChecking) return `${enRecord.many.checking} …`;
  return count === 0 ? enRecord.many.gone : enRecord.many.deleteText(canRestore);
}
