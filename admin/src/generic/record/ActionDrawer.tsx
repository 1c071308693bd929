import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useMemo, useState } from "react";
import { Button, Form } from "react-aria-components";
import { ApiError, isUnauthenticated } from "../../api/errors.ts";
import { actionDocument, rowVariables } from "../../api/recordDocuments.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import type { ActionOwner, EntityAction } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Description } from "../../ui/Description.tsx";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { useKeys } from "../../ui/keys.ts";
import { ArgumentFields } from "./ArgumentFields.tsx";
import { type ActionAnswer, showActionResult } from "./actionResult.ts";
import { variablesOf } from "./argumentValues.ts";
import { errorsByField } from "./errorsByField.ts";
import { focusField, focusFirstError, partialInputs } from "./fieldEditors.ts";
import { FormProblem } from "./FormProblem.tsx";
import { QuestionDialog } from "../../ui/QuestionDialog.tsx";
import { type FormValues, defaultValues } from "./values.ts";

interface ActionDrawerProps {
  /** The table or the report of the rows. */
  entity: ActionOwner;
  action: EntityAction;
  /** The row that the action changes; null for an action of the list. */
  row: Row | null;
  /** The displayed name of the row; null for an action of the list. */
  name: string | null;
  onClose: () => void;
}

/** The form of an action that has arguments, such as a note for a declined absence. */
export function ActionDrawer({ entity, action, row, name, onClose }: ActionDrawerProps): ReactNode {
  const fields = action.arguments.flatMap((argument) => argument.fields);
  const [initial] = useState(() =>
    defaultValues(fields.filter(({ defaultValue }) => defaultValue !== null)),
  );
  const [values, setValues] = useState<FormValues>(initial);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Error | null>(null);
  const [isAsked, setAsked] = useState(false);
  // The row as the user has seen it; null after a conflict, when they see the current one behind the form.
  const [seen, setSeen] = useState(row);
  const askOnce = useAskOnce();
  const formId = useId();

  const showErrors = (byField: Record<string, string>) => {
    setErrors(byField);
    focusFirstError(fields, byField);
  };

  const mutation = useMutation({
    mutationFn: (variables: Record<string, unknown>) =>
      askOnce<ActionAnswer>(actionDocument(action, variables), variables),
    onSuccess: (answer) => {
      showActionResult(action, name, answer);
      onClose();
    },
    onError: (error) => {
      if (isUnauthenticated(error)) return;
      if (!(error instanceof ApiError)) {
        setProblem(error);
        return;
      }
      const { byField, problem: rest } = errorsByField(
        error,
        { fields: [...fields, ...entity.fields] },
        fields,
      );
      showErrors(byField);
      const isConflict = error.errors.some(({ conflict }) => conflict !== null);
      if (isConflict) setSeen(null);
      setProblem(isConflict ? new Error(enRecord.changedRow(error.message)) : rest);
    },
    // Also after an error, since its cause may be that the row has changed.
    onSettled: refetchRows,
  });

  const run = () => {
    if (mutation.isPending) return;
    setProblem(null);
    const { variables, found } = variablesOf(action.arguments, values);
    const unsent = { ...found, ...partialInputs(fields) };
    showErrors(unsent);
    if (Object.keys(unsent).length > 0) return;
    mutation.mutate({ ...rowVariables(action, seen ?? row), ...variables });
  };
  useEffect(() => {
    const [first] = fields;
    if (first) focusField(first.name);
    // Only when the form opens.
  }, [action]);

  const close = () => {
    if (fields.some(({ name: own }) => (values[own] ?? "") !== (initial[own] ?? "")))
      setAsked(true);
    else onClose();
  };

  const title = name === null ? action.title : `${action.title}: ${name}`;
  return (
    <Drawer label={title} onClose={close}>
      <DrawerPage
        title={title}
        actions={
          <Button
            className={`button ${action.isHarmful ? "button-danger" : "button-primary"}`}
            // Not disabled meanwhile, since a disabled button loses the focus; `run` waits for the response.
            type="submit"
            form={formId}
          >
            {action.title}
          </Button>
        }
      >
        <SaveKey onSave={run} />
        <p className="hint action-description">
          <Description text={action.description} />{" "}
          {fields.some(({ onCreate }) => onCreate === "OPTIONAL") && enRecord.emptyFields}
        </p>
        {problem && <FormProblem message={problem.message} />}
        <Form
          id={formId}
          validationBehavior="aria"
          onSubmit={(event) => {
            event.preventDefault();
            run();
          }}
        >
          <ArgumentFields
            fields={fields}
            values={values}
            errors={errors}
            onChange={(field, value) => {
              setValues((current) => ({ ...current, [field]: value }));
              setErrors(({ [field]: _fixed, ...rest }) => rest);
            }}
          />
        </Form>
      </DrawerPage>
      {isAsked && (
        <QuestionDialog
          title={enRecord.discardTitle(action.title)}
          text={enRecord.discardHint}
          onCancel={() => setAsked(false)}
          actions={
            <>
              <Button className="button" autoFocus onPress={() => setAsked(false)}>
                {en.record.stay}
              </Button>
              <Button className="button button-danger" onPress={onClose}>
                {en.record.discard}
              </Button>
            </>
          }
        />
      )}
    </Drawer>
  );
}

/** The shortcut Ctrl S, registered inside the drawer, so that it works while the drawer is the topmost one. */
function SaveKey({ onSave }: { onSave: () => void }): ReactNode {
  useKeys(useMemo(() => ({ "Mod+s": () => onSave() }), [onSave]));
  return null;
}
