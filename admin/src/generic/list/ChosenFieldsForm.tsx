import { type ReactNode, useEffect, useState } from "react";
import { Button } from "react-aria-components";
import type { EntityField } from "../../meta/entities.ts";
import { en } from "../../text/en.ts";
import { enRecord } from "../../text/enRecord.ts";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { ArgumentFields } from "../record/ArgumentFields.tsx";
import { DiscardDialog } from "../record/DiscardDialog.tsx";
import { FormProblem } from "../record/FormProblem.tsx";
import { SaveKey } from "../record/SaveKey.tsx";
import type { ChosenFields } from "./chosenFields.ts";

interface ChosenFieldsFormProps {
  title: string;
  hint: string;
  problem: string | null;
  form: ChosenFields;
  /** The chosen fields as they are shown, such as with the values that the rows have now. */
  fields?: readonly EntityField[];
  /** What the button says while the values are saved; null when nothing is in progress. */
  progress: string | null;
  onSave: () => void;
  onClose: () => void;
  children?: ReactNode;
}

/** The drawer in which the user chooses the fields that many rows get, and their values. */
export function ChosenFieldsForm({
  title,
  hint,
  problem,
  form,
  fields = form.fields,
  progress,
  onSave,
  onClose,
  children,
}: ChosenFieldsFormProps): ReactNode {
  const [isAsked, setAsked] = useState(false);
  const count = form.fields.length;
  const save = () => {
    if (progress === null && count > 0) onSave();
  };
  const close = () => {
    if (progress !== null) return;
    if (count > 0) setAsked(true);
    else onClose();
  };
  useEffect(() => {
    document.querySelector<HTMLElement>(".edit-selection input")?.focus();
  }, []);
  return (
    <Drawer label={title} onClose={close}>
      <DrawerPage
        title={title}
        actions={
          <Button
            className="button button-primary"
            // Not disabled, because it would lose the focus.
            aria-disabled={count === 0}
            onPress={save}
          >
            {progress ?? en.record.save}
            {count > 0 && progress === null && <span> · {count}</span>}
            <kbd>Ctrl S</kbd>
          </Button>
        }
      >
        <SaveKey onSave={save} />
        <div className="edit-selection">
          <p className="hint">{hint}</p>
          {problem !== null && <FormProblem message={problem} />}
          <fieldset className="choices">
            <legend className="label">{enRecord.selected.fields}</legend>
            {form.offered.map((field) => (
              <label key={field.name} className="choice">
                <input
                  type="checkbox"
                  className="checkbox"
                  checked={form.fields.some(({ name }) => name === field.name)}
                  onChange={(event) => form.choose(field, event.target.checked)}
                />
                {field.title}
              </label>
            ))}
          </fieldset>
          <ArgumentFields
            fields={[...fields]}
            values={form.values}
            errors={form.errors}
            onChange={form.change}
          />
        </div>
      </DrawerPage>
      {isAsked && (
        <DiscardDialog
          title={en.record.leaveTitle}
          text={en.record.leaveHint(count)}
          onStay={() => setAsked(false)}
          onDiscard={onClose}
        />
      )}
      {children}
    </Drawer>
  );
}
