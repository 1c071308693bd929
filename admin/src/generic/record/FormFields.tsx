import type { ReactNode } from "react";
import type { Entity, EntityField } from "../../meta/entities.ts";
import { formatWithUnit, textOf, unitOf } from "../../meta/format.ts";
import { cellText } from "../../meta/kinds.tsx";
import { type Row, referencedRow } from "../../meta/rows.ts";
import { withDecimalPoint } from "../../text/locale.ts";
import { en } from "../../text/en.ts";
import { Editor } from "./Editor.tsx";
import { focusField } from "./fieldEditors.ts";
import type { NewRow } from "./editorProps.ts";
import type { RecordForm } from "./useRecordForm.ts";
import type { FormValue } from "./values.ts";

interface FormFieldsProps {
  entity: Pick<Entity, "fields" | "missing" | "canUpdate"> & Partial<Pick<Entity, "nameField">>;
  row: Row | null;
  /** Why fields cannot be changed, when the row is the reason. */
  readOnlyReason?: string | undefined;
  form: Pick<RecordForm, "values" | "dirty" | "errors" | "set" | "revert" | "before">;
  onOpenReference?: (entity: string, id: string) => void;
  onNew: (wanted: NewRow) => void;
}

/** Formats a form value as text. `row` has the currency of an amount. */
export function showFormValue(
  field: EntityField,
  value: FormValue | undefined,
  row: Readonly<Record<string, unknown>>,
): string {
  if (value === undefined || value === "") return en.record.empty;
  if (field.kind === "BOOLEAN") return String(value) === "true" ? en.yes : en.no;
  const shown = field.kind === "DECIMAL" ? withDecimalPoint(String(value)) : value;
  return formatWithUnit(field, shown, row);
}

/** The editors of all fields, grouped by section. */
export function FormFields({
  entity,
  row,
  readOnlyReason = en.record.readOnly,
  form,
  onOpenReference,
  onNew,
}: FormFieldsProps): ReactNode {
  const missing = entity.missing.find(({ verb }) => verb === (row ? "update" : "create"));
  const current = { ...row, ...form.values };
  const sections = new Map<string, EntityField[]>();
  for (const field of entity.fields) {
    const use = row ? field.onUpdate : field.onCreate;
    // Fields that the service sets are shown after the row is created.
    if (row === null && use === "NO") continue;
    const section = field.section ?? "";
    sections.set(section, [...(sections.get(section) ?? []), field]);
  }
  return [...sections].map(([section, fields]) => (
    <section key={section} className="card section" aria-label={section || en.record.fields}>
      {section !== "" && <h2>{section}</h2>}
      <div className="section-fields">
        {fields.map((field) => {
          const use = row ? (entity.canUpdate ? field.onUpdate : "NO") : field.onCreate;
          const isDirty = form.dirty.includes(field.name) && row !== null;
          return (
            <Editor
              key={field.name}
              field={field}
              row={row}
              unit={unitOf(field, current)}
              rowName={entity.nameField === undefined ? "" : textOf(current[entity.nameField])}
              use={use}
              value={form.values[field.name] ?? ""}
              error={form.errors[field.name]}
              before={isDirty ? beforeText(field, row, form) : undefined}
              readOnlyReason={missing ? en.record.needs(missing.permission) : readOnlyReason}
              onChange={(value) => form.set(field.name, value)}
              onRevert={() => {
                form.revert(field.name);
                focusField(field.name);
              }}
              onOpenReference={onOpenReference}
              onNew={onNew}
            />
          );
        })}
      </div>
    </section>
  ));
}

function beforeText(field: EntityField, row: Row | null, form: FormFieldsProps["form"]): string {
  if (row && field.kind === "REFERENCE" && field.isList) return cellText(field, row);
  const referenced = row && referencedRow(field, row);
  return referenced ? referenced.name : showFormValue(field, form.before(field), row ?? {});
}
