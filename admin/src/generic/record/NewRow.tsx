import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { Entity } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import { en } from "../../text/en.ts";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { useKeys } from "../../ui/keys.ts";
import { argumentFields } from "./argumentFields.ts";
import { FormProblem } from "./FormProblem.tsx";
import { FormFields } from "./FormFields.tsx";
import { LeaveDialog, LeaveGuard, SaveButton } from "./leaving.tsx";
import type { NewRow } from "./editorProps.ts";
import { focusField } from "./fieldEditors.ts";
import { type RecordForm, useRecordForm } from "./useRecordForm.ts";
import type { FormValues } from "./values.ts";

/** Opens a drawer with the form of a new row. `drawer` is the address of the drawer that contains the caller. */
export function useNewRow(drawer: string | undefined): {
  makeRow: (wanted: NewRow) => void;
  newRowDrawer: ReactNode;
} {
  const [wanted, setWanted] = useState<NewRow | null>(null);
  const close = () => setWanted(null);
  return {
    makeRow: setWanted,
    newRowDrawer: wanted && <NewRowDrawer {...wanted} drawer={drawer} onClose={close} />,
  };
}

interface NewRowDrawerProps extends NewRow {
  drawer: string | undefined;
  onClose: () => void;
}

/** A drawer with the form of a new row. */
export function NewRowDrawer(props: NewRowDrawerProps): ReactNode {
  const { entity, initial, drawer, onCreated, onClose } = props;
  const [isAsked, setAsked] = useState(false);
  const form = useNewForm(entity, initial, (row) => {
    onClose();
    onCreated(row);
  });
  const close = () => {
    if (form.edits.length > 0) setAsked(true);
    else onClose();
  };
  const title = en.list.new(entity.titleOne);
  return (
    <Drawer label={title} onClose={close}>
      <DrawerPage title={title} actions={<SaveButton form={form} />}>
        <NewRowForm entity={entity} form={form} drawer={drawer} />
      </DrawerPage>
      {isAsked && <LeaveDialog form={form} onStay={() => setAsked(false)} onLeave={onClose} />}
    </Drawer>
  );
}

/** The form state of a new row. Focuses the first field without an initial value. */
export function useNewForm(
  entity: Entity,
  initial: FormValues,
  onSaved: (row: Row) => void,
): RecordForm {
  const form = useRecordForm({ entity, row: null, initial, onSaved });
  useEffect(() => {
    const first = entity.fields.find(
      ({ name, onCreate }) => onCreate !== "NO" && initial[name] === undefined,
    );
    if (first) focusField(first.name);
  }, [entity, initial]);
  return form;
}

interface NewRowFormProps {
  entity: Entity;
  form: RecordForm;
  drawer?: string | undefined;
}

/** The form of a new row: its fields, the other arguments of the mutation, errors that belong to no field, and the shortcut Ctrl S. */
export function NewRowForm({ entity, form, drawer }: NewRowFormProps): ReactNode {
  const { makeRow, newRowDrawer } = useNewRow(drawer);
  const { save } = form;
  useKeys(useMemo(() => ({ "Mod+s": () => save() }), [save]));
  return (
    <>
      <LeaveGuard form={form} drawer={drawer} />
      {form.problem && <FormProblem message={form.problem.message} />}
      <FormFields
        entity={{ ...entity, fields: [...entity.fields, ...argumentFields(entity)] }}
        row={null}
        form={form}
        onNew={makeRow}
      />
      {newRowDrawer}
    </>
  );
}
