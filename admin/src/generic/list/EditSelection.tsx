import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { ask } from "../../api/ask.ts";
import { ApiError, isUnauthenticated } from "../../api/errors.ts";
import { fetchRecords } from "../../api/record.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { type Outcome, requestEach } from "../../api/requestEach.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import type { Entity, EntityField } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import { cellText, rowName } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { formatNumber } from "../../text/locale.ts";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { Failure } from "../../ui/Failure.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import { describeFailures } from "../record/describeFailures.ts";
import { errorsByField } from "../record/errorsByField.ts";
import { type FormValue, toFormValues } from "../record/values.ts";
import { ChosenFieldsForm } from "./ChosenFieldsForm.tsx";
import { changeRow, inputOfRow } from "./changeRow.ts";
import { changeableFields, emptyValue, useChosenFields } from "./chosenFields.ts";

interface EditSelectionProps {
  entity: Entity;
  ids: readonly string[];
  onClose: () => void;
  /** Called when all rows are changed. */
  onDone: () => void;
}

/** The form that gives fields of the selected rows the same values. */
export function EditSelection({ entity, ids, onClose, onDone }: EditSelectionProps): ReactNode {
  const entities = useEntities();
  const loaded = useQuery({
    queryKey: ["editedRows", entity.name, ids],
    queryFn: ({ signal }) => fetchRecords(entities, entity, ids, signal),
    // The versions that the user has seen keep changes by others from being overwritten.
    staleTime: Infinity,
    gcTime: 0,
  });
  const title = enRecord.selected.title(en.list.counted(ids.length, entity));
  return loaded.data === undefined ? (
    <Drawer label={title} onClose={onClose}>
      <DrawerPage title={title}>
        {loaded.error === null ? (
          <p className="dim">{en.loading}</p>
        ) : (
          <Failure error={loaded.error} onRetry={() => void loaded.refetch()} />
        )}
      </DrawerPage>
    </Drawer>
  ) : (
    <EditForm entity={entity} loaded={loaded.data} onClose={onClose} onDone={onDone} />
  );
}

interface EditFormProps extends Omit<EditSelectionProps, "ids"> {
  loaded: readonly Row[];
}

function EditForm({ entity, loaded, onClose, onDone }: EditFormProps): ReactNode {
  const entities = useEntities();
  // After a partial failure, the rows that are not changed yet.
  const [rows, setRows] = useState(() =>
    loaded.filter((row) => entities.mutationOfRow(entity.canUpdate, row) !== null),
  );
  const [problem, setProblem] = useState<string | null>(null);
  const [done, setDone] = useState(0);
  const askOnce = useAskOnce();
  const offered = useMemo(
    () => (rows.length === 0 ? [] : changeableFields(entities, entity)),
    [entities, entity, rows.length],
  );
  const form = useChosenFields(offered, (field) => commonValue(field, rows));
  const { fields } = form;

  const showFailures = async (outcome: Outcome<Row, Row>): Promise<void> => {
    const { done: changed, failed, untried } = outcome;
    const [first] = failed;
    if (first === undefined || isUnauthenticated(first.error)) return;
    const { error } = first;
    if (changed.length === 0 && error instanceof ApiError) {
      const { byField } = errorsByField(error, entity, fields);
      if (Object.keys(byField).length > 0) {
        form.showErrors(byField);
        setProblem(enRecord.selected.rejected(rowName(entity, first.target)));
        return;
      }
    }
    setProblem(describeFailures(outcome, (row) => rowName(entity, row)));
    const left = [...failed.map(({ target }) => target), ...untried];
    // With the versions of now, so that saving again changes what the user has been told about.
    const stored = await fetchRecords(
      entities,
      entity,
      left.map(({ id }) => id),
    ).catch(() => left);
    setRows(stored);
  };

  const mutation = useMutation({
    mutationFn: (input: Record<string, unknown>) => {
      setDone(0);
      return requestEach(rows, (row) => changeRow(askOnce, entity, row, input), {
        onProgress: setDone,
        isOfAll: (error) => !isOfRow(error),
      });
    },
    onSuccess: async (outcome) => {
      if (outcome.done.length > 0) offerUndo(entity, fields, outcome);
      if (outcome.failed.length === 0) onDone();
      else await showFailures(outcome);
    },
    onSettled: refetchRows,
  });

  const save = () => {
    setProblem(null);
    const input = form.readInput();
    if (input !== null) mutation.mutate(input);
  };

  const kept = loaded.length - rows.length;
  return (
    <ChosenFieldsForm
      title={enRecord.selected.title(en.list.counted(rows.length, entity))}
      hint={`${enRecord.selected.hint} ${kept > 0 && mutation.isIdle ? enRecord.selected.kept(kept) : ""}`}
      problem={problem}
      form={form}
      fields={fields.map((field) => withPresentValues(field, rows))}
      progress={mutation.isPending ? enRecord.selected.saving(done, rows.length) : null}
      onSave={save}
      onClose={onClose}
    />
  );
}

/** The field with the values that the rows have now in its description. */
function withPresentValues(field: EntityField, rows: readonly Row[]): EntityField {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const text = cellText(field, row);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const present = [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([text, count]) =>
      counts.size === 1 ? shortened(text) : `${shortened(text)} (${formatNumber(count)})`,
    );
  const now = enRecord.selected.now(present.slice(0, 3), Math.max(0, present.length - 3));
  return { ...field, description: [field.description, now].filter(Boolean).join(" ") };
}

const shortened = (text: string): string =>
  text.length > 60 ? `${text.slice(0, 59).toWellFormed()}…` : text;

/** The value that all rows have; otherwise that of an empty field. */
function commonValue(field: EntityField, rows: readonly Row[]): FormValue {
  const values = new Set(rows.map((row) => toFormValues([field], row)[field.name] ?? ""));
  const [only] = values;
  return values.size === 1 && only !== undefined ? only : emptyValue(field);
}

/** Whether an error says something about one row, such as that it was changed or deleted meanwhile. */
const isOfRow = (error: unknown): boolean =>
  error instanceof ApiError && ["CONFLICT", "NOT_FOUND", "FORBIDDEN"].includes(error.code);

/** Says how many rows were changed, and offers to give them their former values. */
function offerUndo(
  entity: Entity,
  fields: readonly EntityField[],
  { done: changed }: Outcome<Row, Row>,
): void {
  const name = en.list.counted(changed.length, entity);
  const former = changed.map(({ target, result }) => [result, target] as const);
  const undo = async () => {
    const { failed } = await requestEach(former, ([stored, before]) =>
      changeRow(ask, entity, stored, inputOfRow(fields, before)),
    );
    refetchRows();
    if (failed.length === 0) showToast(enRecord.selected.undone(name, changed.length));
    else showToast(enRecord.selected.notUndone(failed.length, changed.length), { tone: "bad" });
  };
  showToast(enRecord.selected.changed(name, changed.length), {
    action: { label: en.record.undo, isUndo: true, run: () => void undo() },
  });
}
