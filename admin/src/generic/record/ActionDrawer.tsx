import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useId, useState } from "react";
import { Button, Form } from "react-aria-components";
import { ApiError, isUnauthenticated } from "../../api/errors.ts";
import { actionDocument, rowVariables } from "../../api/recordDocuments.ts";
import { useAskOnce } from "../../api/useAskOnce.ts";
import { refetchRows } from "../../api/refetchRows.ts";
import { requestEach } from "../../api/requestEach.ts";
import type { EntityAction } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Description } from "../../ui/Description.tsx";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { type ActionTarget, targetsOf } from "./actionTarget.ts";
import { ArgumentFields } from "./ArgumentFields.tsx";
import { type ActionAnswer, showActionResult } from "./actionResult.ts";
import { variablesOf } from "./argumentValues.ts";
import { describeFailures } from "./describeFailures.ts";
import { DiscardDialog } from "./DiscardDialog.tsx";
import { errorsByField } from "./errorsByField.ts";
import { focusField, focusFirstError, partialInputs } from "./fieldEditors.ts";
import { FormProblem } from "./FormProblem.tsx";
import { SaveKey } from "./SaveKey.tsx";
import { type FormValues, defaultValues } from "./values.ts";

interface ActionDrawerProps extends ActionTarget {
  action: EntityAction;
  onClose: () => void;
}

/** The form of an action that has arguments, such as a note for a declined absence. */
export function ActionDrawer({
  entity,
  action,
  rows,
  name,
  nameOf = () => "",
  onDone = () => undefined,
  onClose,
}: ActionDrawerProps): ReactNode {
  const fields = action.arguments.flatMap((argument) => argument.fields);
  const [initial] = useState(() =>
    defaultValues(fields.filter(({ defaultValue }) => defaultValue !== null)),
  );
  const [values, setValues] = useState<FormValues>(initial);
  const [errors, setErrors] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<Error | null>(null);
  const [isAsked, setAsked] = useState(false);
  // The rows as the user has seen them; null after a conflict, when they see the current ones behind the form.
  const [seen, setSeen] = useState<readonly Row[] | null>(rows);
  // After a partial failure, the rows that it is not done for.
  const [left, setLeft] = useState<ReadonlySet<string> | null>(null);
  const askOnce = useAskOnce();
  const formId = useId();

  const showErrors = (byField: Record<string, string>) => {
    setErrors(byField);
    focusFirstError(fields, byField);
  };

  const fieldErrors = (error: unknown): Record<string, string> =>
    error instanceof ApiError
      ? errorsByField(error, { fields: [...fields, ...entity.fields] }, fields).byField
      : {};

  const mutation = useMutation({
    mutationFn: async (variables: Record<string, unknown>) => {
      const targets = (seen ?? rows).filter(({ id }) => left?.has(id) ?? true);
      const outcome = await requestEach(
        targetsOf(action, targets),
        (row) => {
          const all = { ...rowVariables(action, row), ...variables };
          return askOnce<ActionAnswer>(actionDocument(action, all), all);
        },
        { isOfAll: (error) => Object.keys(fieldErrors(error)).length > 0 },
      );
      const [failure] = outcome.failed;
      if (failure === undefined) return outcome.done.map(({ result }) => result);
      if (targets.length < 2 || outcome.untried.length > 0) throw failure.error;
      setLeft(new Set(outcome.failed.map(({ target }) => target?.id ?? "")));
      setSeen(null);
      throw new Error(describeFailures(outcome, nameOf));
    },
    onSuccess: (answers) => {
      showActionResult(action, name, answers);
      onClose();
      onDone();
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
    mutation.mutate(variables);
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
        <DiscardDialog
          title={enRecord.discardTitle(action.title)}
          text={enRecord.discardHint}
          onStay={() => setAsked(false)}
          onDiscard={onClose}
        />
      )}
    </Drawer>
  );
}
