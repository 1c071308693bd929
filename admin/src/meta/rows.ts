import { nameOfUnlabelled } from "../../../src/schema/rowNames.ts";
import type { Suggestion } from "../api/suggestion.ts";
import type { Entities, EntityField, EntityReference } from "./entities.ts";
import { en } from "../text/en.ts";
import { textOf } from "./format.ts";

/** A row in a response of the service. */
export type Row = Record<string, unknown> & { id: string; rowVersion?: string };

/** The property with the referenced row, named as lists show it. */
export const referencedRowKey = (field: EntityField): string => `${field.name} row`;

/** The row that a field refers to. */
export interface ReferencedRow {
  id: string;
  /** The name, or a text in place of the name of a row that the caller may not see. */
  name: string;
  color: string | null;
  isVisible: boolean;
}

/** The row that `field` refers to; null without a reference. */
export function referencedRow(field: EntityField, row: Row): ReferencedRow | null {
  const { reference } = field;
  if (reference === null) return null;
  const looked = row[referencedRowKey(field)] as Suggestion | undefined;
  if (looked) return { ...looked, isVisible: true };
  const referenced = reference.field === null ? null : row[reference.field];
  if (typeof referenced === "object" && referenced !== null && "id" in referenced) {
    const named: Record<string, unknown> = { ...referenced };
    return {
      id: textOf(named["id"]),
      name: nameIn(reference, named),
      color: reference.colorField === null ? null : textOf(named[reference.colorField]) || null,
      isVisible: true,
    };
  }
  const id = row[field.name];
  if (typeof id !== "string" || id === "") return null;
  // A key that is also the name, such as a colour, needs no other row.
  const isName = reference.keyField === reference.nameField;
  return { id, name: isName ? id : en.notVisible, color: null, isVisible: isName };
}

/** The name of a row, or else its detail, or else its kind with the end of its id. */
function nameIn(
  { titleOne, keyField, nameField, detailField }: EntityReference,
  row: Readonly<Record<string, unknown>>,
): string {
  const detail = detailField === null ? "" : textOf(row[detailField]);
  const key = textOf(row["id"]) || textOf(row[keyField]);
  return textOf(row[nameField]) || detail || nameOfUnlabelled(titleOne, key);
}

/** A chosen row: the key that a mutation takes, and the name. */
export interface ChosenRow {
  key: string;
  name: string;
}

/** The rows in a list of references, such as a user's roles; keys without a field that returns the rows are their names. */
export function listedRows({ name: own, reference }: EntityField, row: Row): ChosenRow[] {
  const rows = reference === null ? null : row[reference.field ?? own];
  if (!reference || !Array.isArray(rows)) return [];
  if (reference.field === null) return rows.map(textOf).map((key) => ({ key, name: key }));
  return rows.map((item: Record<string, unknown>) => ({
    key: textOf(item[reference.keyField]),
    name: nameIn(reference, item),
  }));
}

/** A row of a list, or a report that shows the row. */
export type RowTarget = { entity: string; id: string } | { report: string };

/** What shows the row that a field with the widget `row` refers to; undefined when the caller has no page for its type. */
export function targetRow(
  { metadata }: Entities,
  field: EntityField,
  row: Row,
): RowTarget | undefined {
  const id = row[field.name];
  const typeName = typeFieldsOf(field)
    .map((name) => row[name])
    .find((value) => value !== undefined);
  if (field.widget !== "row" || typeof id !== "string") return undefined;
  const entity = metadata.entities.find((one) => one.typeName === typeName);
  if (entity) return entity.recordField === null ? undefined : { entity: entity.name, id };
  const report = metadata.reports.find(
    (one) => one.typeName === typeName && one.arguments.every(({ type }) => !type.endsWith("!")),
  );
  return report && { report: report.field };
}

/** The fields that can hold the type of the row that a field with the widget `row` refers to. */
export function typeFieldsOf({ name }: Pick<EntityField, "name">): [string, string] {
  const stem = name.replace(/Id$/, "");
  return [stem, `${stem}Type`];
}

/** The field with the id of the row that the console opens for a row of a report. */
export function linkOf(fields: readonly EntityField[]): EntityField | undefined {
  return fields.find(({ widget }) => widget === "row");
}
