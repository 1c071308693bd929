import type { ReactNode } from "react";
import type { EntityField } from "../../meta/entities.ts";
import { FormFields } from "./FormFields.tsx";
import { useNewRow } from "./NewRow.tsx";
import type { FormValue, FormValues } from "./values.ts";

interface ArgumentFieldsProps {
  fields: EntityField[];
  values: FormValues;
  errors: Record<string, string>;
  onChange: (field: string, value: FormValue) => void;
}

/** The editors of the arguments of an action or a report. They have no stored values to compare with or to restore. */
export function ArgumentFields({
  fields,
  values,
  errors,
  onChange,
}: ArgumentFieldsProps): ReactNode {
  const { makeRow, newRowDrawer } = useNewRow(undefined);
  return (
    <>
      <FormFields
        entity={{ fields, missing: [], canUpdate: null }}
        row={null}
        form={{
          values,
          errors,
          dirty: [],
          set: onChange,
          revert: () => undefined,
          before: () => undefined,
        }}
        onNew={makeRow}
      />
      {newRowDrawer}
    </>
  );
}
