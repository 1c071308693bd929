import type { Entity, EntityField } from "../../meta/entities.ts";
import type { Row } from "../../meta/rows.ts";
import type { FormValue, FormValues } from "./values.ts";

/** A row to create in a drawer. */
export interface NewRow {
  entity: Entity;
  initial: FormValues;
  onCreated: (row: Row) => void;
}

export interface EditorProps {
  field: EntityField;
  value: FormValue;
  /** The loaded row; null for a new one. */
  row: Row | null;
  /** Shown beside the editor. */
  unit: string | null;
  /** The name of the row, for the alternative text of a picture; may be empty. */
  rowName: string;
  use: "NO" | "OPTIONAL" | "REQUIRED";
  error: string | undefined;
  /** The formatted value before the edit; absent when the field is unchanged. */
  before: string | undefined;
  readOnlyReason: string;
  onChange: (value: FormValue) => void;
  onRevert: () => void;
  onOpenReference?: ((entity: string, id: string) => void) | undefined;
  /** Opens the form of a new row of the referenced table. */
  onNew: (wanted: NewRow) => void;
}
