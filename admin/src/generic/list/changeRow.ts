import { updateDocument } from "../../api/recordDocuments.ts";
import type { Entity, EntityField } from "../../meta/entities.ts";
import { type Row, listedRows } from "../../meta/rows.ts";
import { queryClient } from "../../session.ts";
import { recordKey } from "../record/useRecordForm.ts";

/** Changes a row in the version that the user has seen. Returns the stored row. */
export async function changeRow(
  send: <T>(query: string, variables: Record<string, unknown>) => Promise<T>,
  entity: Entity,
  row: Row,
  input: Readonly<Record<string, unknown>>,
): Promise<Row> {
  const answer = await send<{ row: Row }>(updateDocument(entity), {
    id: row.id,
    input,
    ifVersion: row.rowVersion ?? null,
  });
  queryClient.removeQueries({ queryKey: recordKey(entity.name, row.id) });
  return answer.row;
}

/** The values of fields of a row as input of its mutation. */
export function inputOfRow(fields: readonly EntityField[], row: Row): Record<string, unknown> {
  return Object.fromEntries(
    fields.map((field) => [
      field.name,
      field.kind === "REFERENCE" && field.isList
        ? listedRows(field, row).map(({ key }) => key)
        : (row[field.name] ?? null),
    ]),
  );
}
