import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { Button } from "react-aria-components";
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
import { ArgumentFields } from "../record/ArgumentFields.tsx";
import { describeFailures } from "../record/describeFailures.ts";
import { DiscardDialog } from "../record/DiscardDialog.tsx";
import { errorsByField } from "../record/errorsByField.ts";
import { focusFirstError, partialInputs } from "../record/fieldEditors.ts";
import { FormProblem } from "../record/FormProblem.tsx";
import { SaveKey } from "../record/SaveKey.tsx";
import {
  type FormValue,
  type FormValues,
  addInputValue,
  defaultValues,
  toFormValues,
} from "../record/values.ts";
import { changeRow, inputOfRow } from "./changeRow.ts";

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
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [values, setValues] = useState<FormValues>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<string | null>(null);
  const [done, setDone] = useState(0);
  const [isAsked, setAsked] = useState(false);
  const askOnce = useAskOnce();
  const offered = useMemo(
    () => (rows.length === 0 ? [] : changeableFields(entity)),
    [entity, rows.length],
  );
  const fields = offered
    .filter(({ name }) => chosen.includes(name))
    .map((field) => withPresentValues(field, rows));

  const choose = (field: EntityField, isChosen: boolean) => {
    setChosen((before) =>
      isChosen ? [...before, field.name] : before.filter((name) => name !== field.name),
    );
    setErrors(({ [field.name]: _removed, ...rest }) => rest);
    if (!isChosen) return;
    setValues((before) => ({ ...before, [field.name]: commonValue(field, rows) }));
  };

  const showErrors = (byField: Record<string, string>) => {
    setErrors(byField);
    focusFirstError(fields, byField);
  };

  const showFailures = async (outcome: Outcome<Row, Row>): Promise<void> => {
    const { done: changed, failed, untried } = outcome;
    const [first] = failed;
    if (first === undefined || isUnauthenticated(first.error)) return;
    const { error } = first;
    if (changed.length === 0 && error instanceof ApiError) {
      const { byField } = errorsByField(error, entity, fields);
      if (Object.keys(byField).length > 0) {
        showErrors(byField);
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
    if (mutation.isPending || fields.length === 0) return;
    setProblem(null);
    const { input, found } = inputOf(fields, values);
    const unsent = { ...found, ...partialInputs(fields) };
    showErrors(unsent);
    if (Object.keys(unsent).length === 0) mutation.mutate(input);
  };
  const close = () => {
    if (mutation.isPending) return;
    if (fields.length > 0) setAsked(true);
    else onClose();
  };
  useEffect(() => {
    document.querySelector<HTMLElement>(".edit-selection input")?.focus();
  }, []);

  const title = enRecord.selected.title(en.list.counted(rows.length, entity));
  const kept = loaded.length - rows.length;
  return (
    <Drawer label={title} onClose={close}>
      <DrawerPage
        title={title}
        actions={
          <Button
            className="button button-primary"
            // Not disabled, because it would lose the focus.
            aria-disabled={fields.length === 0}
            onPress={save}
          >
            {mutation.isPending ? enRecord.selected.saving(done, rows.length) : en.record.save}
            {fields.length > 0 && !mutation.isPending && <span> · {fields.length}</span>}
            <kbd>Ctrl S</kbd>
          </Button>
        }
      >
        <SaveKey onSave={save} />
        <div className="edit-selection">
          <p className="hint">
            {enRecord.selected.hint} {kept > 0 && mutation.isIdle && enRecord.selected.kept(kept)}
          </p>
          {problem !== null && <FormProblem message={problem} />}
          <fieldset className="choices">
            <legend className="label">{enRecord.selected.fields}</legend>
            {offered.map((field) => (
              <label key={field.name} className="choice">
                <input
                  type="checkbox"
                  className="checkbox"
                  checked={chosen.includes(field.name)}
                  onChange={(event) => choose(field, event.target.checked)}
                />
                {field.title}
              </label>
            ))}
          </fieldset>
          <ArgumentFields
            fields={fields}
            values={values}
            errors={errors}
            onChange={(field, value) => {
              setValues((before) => ({ ...before, [field]: value }));
              setErrors(({ [field]: _fixed, ...rest }) => rest);
            }}
          />
        </div>
      </DrawerPage>
      {isAsked && (
        <DiscardDialog
          title={en.record.leaveTitle}
          text={en.record.leaveHint(fields.length)}
          onStay={() => setAsked(false)}
          onDiscard={onClose}
        />
      )}
    </Drawer>
  );
}

/** The fields that the selected rows can be given. */
export function changeableFields({ fields }: Entity): EntityField[] {
  return fields
    .filter(
      ({ onUpdate, isInputOnly, reference }) =>
        onUpdate !== "NO" && (!isInputOnly || reference !== null),
    )
    .map((field) => ({ ...field, onCreate: field.onUpdate, section: null }));
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
  const empty = defaultValues([{ ...field, defaultValue: null }])[field.name] ?? "";
  return values.size === 1 ? (only ?? empty) : empty;
}

function inputOf(
  fields: readonly EntityField[],
  values: FormValues,
): { input: Record<string, unknown>; found: Record<string, string> } {
  const input: Record<string, unknown> = {};
  const found: Record<string, string> = {};
  for (const field of fields) {
    const value = values[field.name] ?? "";
    if (value === "" && field.onUpdate === "REQUIRED" && !field.isList) {
      found[field.name] = enRecord.needed(field.title);
      continue;
    }
    addInputValue(field, value, input, found);
  }
  return { input, found };
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
