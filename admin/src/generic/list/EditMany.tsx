import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { Button } from "react-aria-components";
import { ask } from "../../api/ask.ts";
import { ApiError, isUnauthenticated } from "../../api/errors.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import type { Entity } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { errorsByField } from "../record/errorsByField.ts";
import { ChosenFieldsForm } from "./ChosenFieldsForm.tsx";
import { changeableFields, useChosenFields } from "./chosenFields.ts";
import { type BulkResult, type ManyRows, changeMany } from "./manyRows.ts";

interface EditManyProps {
  entity: Entity;
  rows: ManyRows;
  onClose: () => void;
  /** Called when the rows are changed. */
  onDone: () => void;
}

interface Checked {
  input: Record<string, unknown>;
  result: BulkResult;
}

/** The form that gives many rows the same values by one request, after a dry run and a question. */
export function EditMany({ entity, rows, onClose, onDone }: EditManyProps): ReactNode {
  const entities = useEntities();
  const form = useChosenFields(
    useMemo(() => changeableFields(entities, entity), [entities, entity]),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  const askOnce = useAskOnce();

  const showError = (error: Error) => {
    setChecked(null);
    if (isUnauthenticated(error)) return;
    if (!(error instanceof ApiError)) {
      setProblem(error.message);
      return;
    }
    const { byField, problem: other } = errorsByField(error, entity, form.fields);
    form.showErrors(byField);
    setProblem(other?.message ?? null);
  };
  const check = useMutation({
    mutationFn: (input: Record<string, unknown>) =>
      changeMany(ask, entity, { rows, dryRun: true, input }),
    onSuccess: (result, input) => {
      if (result.changed === 0) setProblem(enRecord.many.none);
      else setChecked({ input, result });
    },
    onError: showError,
  });
  const change = useMutation({
    mutationFn: ({ input }: Checked) => changeMany(askOnce, entity, { rows, dryRun: false, input }),
    onSuccess: ({ changed }) => {
      showToast(enRecord.selected.changed(en.list.counted(changed, entity), changed));
      onDone();
    },
    onError: showError,
    onSettled: refetchRows,
  });

  const save = () => {
    setProblem(null);
    const input = form.readInput();
    if (input !== null) check.mutate(input);
  };
  const counted = en.list.counted(rows.count, entity);
  const saving = change.isPending ? enRecord.many.saving : null;
  return (
    <ChosenFieldsForm
      title={enRecord.selected.title(counted)}
      hint={enRecord.many.editHint(counted)}
      problem={problem}
      form={form}
      progress={check.isPending ? enRecord.many.checking : saving}
      onSave={save}
      onClose={onClose}
    >
      {checked && (
        <ChangeQuestion
          rows={en.list.counted(checked.result.changed, entity)}
          unchanged={checked.result.unchanged}
          isPending={change.isPending}
          onCancel={() => {
            if (!change.isPending) setChecked(null);
          }}
          onChange={() => {
            if (!change.isPending) change.mutate(checked);
          }}
        />
      )}
    </ChosenFieldsForm>
  );
}

interface ChangeQuestionProps {
  /** The number of rows that get other values. */
  rows: string;
  unchanged: number;
  isPending: boolean;
  onCancel: () => void;
  onChange: () => void;
}

function ChangeQuestion(props: ChangeQuestionProps): ReactNode {
  const { rows, unchanged, isPending, onCancel, onChange } = props;
  return (
    <QuestionDialog
      title={enRecord.many.changeTitle(rows)}
      text={enRecord.many.changeText(unchanged)}
      onCancel={onCancel}
      actions={
        <>
          <Button className="button" autoFocus onPress={onCancel}>
            {en.cancel}
          </Button>
          <Button className="button button-primary" onPress={onChange}>
            {isPending ? enRecord.many.saving : enRecord.many.change(rows)}
          </Button>
        </>
      }
    />
  );
}
