import type { ReactNode } from "react";
import type { EntityField, Report } from "../../meta/entities.ts";
import { cellText } from "../../meta/kinds.tsx";
import type { Row } from "../../meta/rows.ts";
import { Drawer, DrawerPage } from "../../ui/Drawer.tsx";
import { ActionsMenu } from "../record/ActionsMenu.tsx";
import { FormFields } from "../record/FormFields.tsx";

interface ReportRowProps {
  report: Report;
  row: Row;
  columns: readonly EntityField[];
  onClose: () => void;
}

const nothing = () => undefined;
const readOnlyForm = {
  values: {},
  dirty: [],
  errors: {},
  set: nothing,
  revert: nothing,
  before: nothing,
};

/** A row that belongs to no list, with its actions, in a drawer. */
export function ReportRow({ report, row, columns, onClose }: ReportRowProps): ReactNode {
  const [first] = columns;
  const name = first === undefined ? report.title : cellText(first, row);
  return (
    <Drawer label={name} onClose={onClose}>
      <DrawerPage title={name} actions={<ActionsMenu entity={report} row={row} name={name} />}>
        <FormFields
          entity={{ fields: [...columns], missing: [], canUpdate: null }}
          row={row}
          form={readOnlyForm}
          onNew={nothing}
        />
      </DrawerPage>
    </Drawer>
  );
}
