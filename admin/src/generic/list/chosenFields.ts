import { useState } from "react";
import type { Entities, Entity, EntityField } from "../../meta/entities.ts";
import { enRecord } from "../../text/enRecord.ts";
import { focusFirstError, partialInputs } from "../record/fieldEditors.ts";
import { type FormValue, type FormValues, addInputValue, defaultValues } from "../record/values.ts";

/** The fields that the user gives many rows, with their values. */
export interface ChosenFields {
  offered: readonly EntityField[];
  fields: readonly EntityField[];
  values: FormValues;
  errors: Record<string, string>;
  choose: (field: EntityField, isChosen: boolean) => void;
  change: (field: string, value: FormValue) => void;
  /** Shows errors at their fields, and goes to the first one. */
  showErrors: (byField: Record<string, string>) => void;
  /** The input of the mutation; null when values are missing or incomplete, which their fields then say. */
  readInput: () => Record<string, unknown> | null;
}

/** @param initialValue the value of a field when it is chosen */
export function useChosenFields(
  offered: readonly EntityField[],
  initialValue: (field: EntityField) => FormValue = emptyValue,
): ChosenFields {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [values, setValues] = useState<FormValues>({});
  const [errors, setErrors] = useState<Record<string, string>>({});
  const fields = offered.filter(({ name }) => chosen.includes(name));
  const removeError = (name: string) => setErrors(({ [name]: _removed, ...rest }) => rest);
  const showErrors = (byField: Record<string, string>) => {
    setErrors(byField);
    focusFirstError(fields, byField);
  };
  return {
    offered,
    fields,
    values,
    errors,
    choose(field, isChosen) {
      setChosen((before) =>
        isChosen ? [...before, field.name] : before.filter((name) => name !== field.name),
      );
      removeError(field.name);
      if (isChosen) setValues((before) => ({ ...before, [field.name]: initialValue(field) }));
    },
    change(field, value) {
      setValues((before) => ({ ...before, [field]: value }));
      removeError(field);
    },
    showErrors,
    readInput() {
      const { input, found } = inputOf(fields, values);
      const unsent = { ...found, ...partialInputs(fields) };
      showErrors(unsent);
      return Object.keys(unsent).length === 0 ? input : null;
    },
  };
}

/** The fields that rows can be given: of references, those to rows among which the user can choose. */
export function changeableFields(entities: Entities, { fields }: Entity): EntityField[] {
  return fields
    .filter(({ onUpdate, isInputOnly, reference }) =>
      reference === null
        ? onUpdate !== "NO" && !isInputOnly
        : onUpdate !== "NO" && entities.get(reference.entity) !== undefined,
    )
    .map((field) => ({ ...field, onCreate: field.onUpdate, section: null }));
}

/** The value of an empty field. */
export function emptyValue(field: EntityField): FormValue {
  return defaultValues([{ ...field, defaultValue: null }])[field.name] ?? "";
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
