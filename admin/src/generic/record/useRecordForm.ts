import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { createDocument, updateDocument } from "../../api/recordDocuments.ts";
import { ApiError, isUnauthenticated } from "../../api/errors.ts";
import { addReferencedRows } from "../../api/referencedRows.ts";
import { fetchRecord } from "../../api/record.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import { type Entity, type EntityField, fieldOf } from "../../meta/entities.ts";
import { useEntities } from "../../meta/EntitiesContext.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { showSecret } from "../../ui/SecretDialog.tsx";
import { showToast } from "../../ui/Toasts.tsx";
import type { Choices, ConflictState } from "../conflict/ConflictDialog.tsx";
import { currenciesOf, restoredTogether } from "../conflict/currencies.ts";
import { merge as mergeFields } from "../conflict/merge.ts";
import { argumentFields } from "./argumentFields.ts";
import { variablesOf } from "./argumentValues.ts";
import { errorsByField } from "./errorsByField.ts";
import { focusFirstError, partialInputs } from "./fieldEditors.ts";
import {
  type FormValue,
  type FormValues,
  addInputValue,
  defaultValues,
  dirtyNames,
  ownUserValues,
  toFormValue,
  toFormValues,
} from "./values.ts";

export const recordKey = (entity: string, id: string) => ["record", entity, id] as const;

export interface RecordForm {
  values: FormValues;
  dirty: readonly string[];
  /** The dirty fields that the user edited; initial values of a new row do not count. */
  edits: readonly string[];
  errors: Readonly<Record<string, string>>;
  /** Errors that belong to no field. */
  problem: Error | null;
  isSaving: boolean;
  conflict: ConflictState | null;
  set: (field: string, value: FormValue) => void;
  /** Sets a field to its value in an old row, and an amount together with its currency. */
  restore: (field: EntityField, old: Readonly<Record<string, unknown>>) => void;
  revert: (field?: string) => void;
  save: () => void;
  resolve: (choices: Choices) => void;
  cancelConflict: () => void;
  /** Saves the edits in a row that was deleted and restored; asks about fields that others changed before. */
  saveRestored: () => Promise<void>;
  before: (field: EntityField) => FormValue | undefined;
}

interface FormOptions {
  entity: Entity;
  /** The loaded row; null for a new one. */
  row: Row | null;
  /** Initial values of a new row. */
  initial?: FormValues;
  onSaved: (row: Row) => void;
}

/** The loaded state, with which edits are compared. */
interface Base {
  row: Row | null;
  values: FormValues;
}

/** The conflict that the user has not resolved yet. `theirs` is the stored row. */
interface OpenConflict extends ConflictState {
  theirs: Row;
  merged: FormValues;
}

/** The form state of a row: edits, errors by field, conflicts, and saving with the loaded version. */
export function useRecordForm({ entity, row, initial, onSaved }: FormOptions): RecordForm {
  const queryClient = useQueryClient();
  const entities = useEntities();
  const ownFields = entity.fields.filter(
    (field) => (row ? field.onUpdate : field.onCreate) !== "NO",
  );
  const fields = row ? ownFields : [...ownFields, ...argumentFields(entity)];
  const loadedState = (from: Row | null): Base => ({
    row: from,
    values: from
      ? toFormValues(fields, from)
      : { ...defaultValues(fields), ...ownUserValues(entities, fields) },
  });
  const currencies = currenciesOf(fields);
  const merge = (base: FormValues, mine: FormValues, theirs: FormValues) =>
    mergeFields(base, mine, theirs, currencies);
  const [base, setBase] = useState(() => loadedState(row));
  const [values, setValues] = useState<FormValues>(() => ({ ...base.values, ...initial }));
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Error | null>(null);
  const [conflict, setConflict] = useState<OpenConflict | null>(null);
  const dirty = dirtyNames(fields, base.values, values);
  const askOnce = useAskOnce();

  // After a refetch, fields without edits take the new values.
  if (row !== null && row !== base.row && conflict === null) {
    const next = loadedState(row);
    const { values: merged, clashes } = merge(base.values, values, next.values);
    // With a conflict the old base and its version remain, so that saving fails and the user is asked.
    if (clashes.length === 0) {
      setBase(next);
      setValues(merged);
    } else if (base.row !== null && base.row.id !== row.id) {
      setBase(next);
      setValues(next.values);
    }
  }

  /** The variables of the mutation that saves the form. @throws FieldErrors */
  const variablesFor = (from: Base, edited: FormValues): Record<string, unknown> => {
    const input: Record<string, unknown> = {};
    const { variables, found } = variablesOf(
      from.row === null ? (entity.canCreate?.arguments ?? []) : [],
      edited,
    );
    for (const field of ownFields) {
      const value = edited[field.name];
      // Unchanged fields of a new row are omitted, so that the database sets their defaults. A checkbox always shows a
      // value, which a function may not take from the column's default.
      const isNeeded =
        row === null && (field.onCreate === "REQUIRED" || typeof value === "boolean");
      if (value === undefined || (value === from.values[field.name] && !isNeeded)) continue;
      addInputValue(field, value, input, found);
    }
    if (Object.keys(found).length > 0) throw new FieldErrors(found);
    return from.row === null
      ? { input, ...variables }
      : { id: from.row.id, input, ifVersion: from.row.rowVersion ?? null };
  };

  const send = async (from: Base, edited: FormValues): Promise<Row> => {
    const variables = variablesFor(from, edited);
    const query = from.row === null ? createDocument(entity, variables) : updateDocument(entity);
    const { row: saved } = await askOnce<{ row: Row }>(query, variables);
    // The row is saved, so a failed look-up of names is ignored.
    await addReferencedRows(entities, entity.fields, [saved]).catch(() => undefined);
    return withoutSecret(entity, saved);
  };

  const mutation = useMutation({
    mutationFn: ({ from, edited }: { from: Base; edited: FormValues; note?: string }) =>
      send(from, edited),
    onMutate: () => {
      setErrors({});
      setProblem(null);
    },
    onSuccess: (saved, { edited, note }) => {
      applySavedRow(
        saved,
        edited,
        note ?? (row === null ? en.record.created(entity.titleOne) : en.record.saved),
      );
    },
    onError: (error, { from, edited }) => {
      void handleSaveError(error, from, edited);
    },
  });

  /** Replaces the base with the saved row. */
  const applySavedRow = (saved: Row, edited: FormValues, message: string): void => {
    const next = loadedState(saved);
    setBase(next);
    // Keeps edits made while the request was running.
    setValues((current) => merge(edited, current, next.values).values);
    setConflict(null);
    queryClient.setQueryData(recordKey(entity.name, saved.id), saved);
    void queryClient.invalidateQueries({ queryKey: ["rows"] });
    void queryClient.invalidateQueries({ queryKey: ["history", entity.name, saved.id] });
    // The frame shows the name of the user, and the locale formats dates and numbers.
    if (saved.id === entities.metadata.me.user.id)
      void queryClient.invalidateQueries({ queryKey: ["console"] });
    showToast(message);
    onSaved(saved);
  };

  const handleSaveError = async (error: Error, from: Base, edited: FormValues): Promise<void> => {
    if (error instanceof FieldErrors) {
      showErrors(error.byField);
      return;
    }
    // The frame shows a login dialog, and the edits are kept.
    if (isUnauthenticated(error)) return;
    if (!(error instanceof ApiError)) {
      setProblem(error);
      return;
    }
    const detail = error.errors.find((item) => item.conflict !== null);
    if (detail?.conflict && from.row !== null) {
      const theirs = await fetchRecord(entities, entity, from.row.id).catch(() => null);
      if (theirs === null) {
        setProblem(error);
        return;
      }
      const their = loadedState(theirs);
      const { values: merged, clashes, takenFromTheirs } = merge(from.values, edited, their.values);
      const changedBy = detail.conflict.changedBy?.name ?? null;
      if (clashes.length === 0) {
        const titles = takenFromTheirs
          .map((name) => fieldOf(entity, name)?.title ?? name)
          .join(", ");
        // The stored values are equal, for example when an earlier response of this form was lost.
        if (dirtyNames(fields, their.values, merged).length === 0) {
          applySavedRow(theirs, edited, en.record.saved);
          return;
        }
        setValues((current) => merge(edited, current, merged).values);
        const note = enRecord.conflict.merged(titles, changedBy ?? enRecord.conflict.somebody);
        mutation.mutate({
          from: their,
          edited: merged,
          ...(takenFromTheirs.length > 0 && { note }),
        });
        return;
      }
      setConflict({ clashes, changedBy, changedAt: detail.conflict.changedAt, theirs, merged });
      return;
    }
    if (error.code === "NOT_FOUND" && from.row !== null) {
      const { id } = from.row;
      const stored = await fetchRecord(entities, entity, id).catch(() => undefined);
      if (stored === null) {
        queryClient.setQueryData(recordKey(entity.name, id), null);
        return;
      }
    }
    const { byField, problem: rest } = errorsByField(
      error,
      { fields: [...fields, ...entity.fields] },
      fields,
    );
    showErrors(byField);
    if (rest !== null) setProblem(rest);
  };

  const showErrors = (byField: Record<string, string>) => {
    setErrors(byField);
    focusFirstError(fields, byField);
  };

  const set = (field: string, value: FormValue) => {
    setValues((current) => ({ ...current, [field]: value }));
    // A message about several fields is shown at each of them.
    setErrors((current) =>
      Object.fromEntries(
        Object.entries(current).filter(([, message]) => message !== current[field]),
      ),
    );
  };

  return {
    values,
    dirty,
    edits: dirty.filter((name) => base.row !== null || values[name] !== initial?.[name]),
    errors,
    problem,
    isSaving: mutation.isPending,
    conflict,
    set,
    restore: (field, old) => {
      const oldValue = (one: EntityField) => toFormValue(one, old[one.name]);
      const isOther = (one: EntityField) => one.name in old && oldValue(one) !== values[one.name];
      for (const one of restoredTogether(fields, field, isOther))
        if (one.name in old) set(one.name, oldValue(one));
    },
    revert: (field) => {
      setValues((current) =>
        field === undefined ? base.values : { ...current, [field]: base.values[field] ?? "" },
      );
      setErrors({});
      setProblem(null);
    },
    save: () => {
      if (mutation.isPending) return;
      const partial = partialInputs(fields);
      if (Object.keys(partial).length > 0) return showErrors(partial);
      if (row !== null && dirty.length === 0) return;
      const missing = fields.filter(
        (field) =>
          (row ? field.onUpdate : field.onCreate) === "REQUIRED" &&
          values[field.name] === "" &&
          // A list can be empty.
          !field.isList,
      );
      if (missing.length > 0)
        return showErrors(
          Object.fromEntries(missing.map(({ name, title }) => [name, enRecord.needed(title)])),
        );
      mutation.mutate({ from: base, edited: values });
    },
    resolve: (choices) => {
      if (!conflict) return;
      const edited = { ...conflict.merged };
      for (const clash of conflict.clashes)
        Object.assign(edited, clash[choices.get(clash) ?? "mine"]);
      const from = loadedState(conflict.theirs);
      // Otherwise the form would take the values of the older row as those of a later refetch.
      queryClient.setQueryData(recordKey(entity.name, conflict.theirs.id), conflict.theirs);
      setBase(from);
      setValues(edited);
      setConflict(null);
      if (dirtyNames(fields, from.values, edited).length > 0) mutation.mutate({ from, edited });
    },
    cancelConflict: () => setConflict(null),
    saveRestored: async () => {
      if (base.row === null) return;
      const stored = await fetchRecord(entities, entity, base.row.id);
      if (stored === null) return;
      const from = loadedState(stored);
      const { values: edited, clashes } = merge(base.values, values, from.values);
      if (clashes.length > 0) {
        // The latest change is the restoration, so the conflict does not say who made the earlier one.
        setConflict({ clashes, changedBy: null, changedAt: null, theirs: stored, merged: edited });
        return;
      }
      setBase(from);
      setValues(edited);
      queryClient.setQueryData(recordKey(entity.name, stored.id), stored);
      mutation.mutate({ from, edited });
    },
    before: (field) => base.values[field.name],
  };
}

/** Invalid values, found before a request is sent. */
class FieldErrors extends Error {
  readonly byField: Record<string, string>;

  constructor(byField: Record<string, string>) {
    super("Some fields cannot be sent.");
    this.byField = byField;
  }
}

/** Shows the secret of a new row in a dialog and removes it from the row, so that it is not cached. */
function withoutSecret({ secretField, titleOne }: Entity, row: Row): Row {
  if (secretField === null) return row;
  const { [secretField]: secret, ...rest } = row;
  if (typeof secret === "string") showSecret({ title: titleOne, secret });
  return rest as Row;
}
