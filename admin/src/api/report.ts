import type { Entities, Entity, EntityField, Report } from "../meta/entities.ts";
import type { Row } from "../meta/rows.ts";
import { ask } from "./ask.ts";
import { reportDocument } from "./recordDocuments.ts";
import { addReferencedRows } from "./referencedRows.ts";

interface ReportRequest {
  report: Report;
  /** The table of the rows. */
  entity: Entity | undefined;
  columns: readonly EntityField[];
  variables: Record<string, unknown>;
}

/** Fetches all rows of a report with the names of the rows that they refer to. */
export async function fetchReport(
  entities: Entities,
  { report, entity, columns, variables }: ReportRequest,
  signal: AbortSignal,
): Promise<Row[]> {
  const { rows } = await ask<{ rows: Row[] }>(
    reportDocument(report, variables, entity, columns),
    variables,
    { signal },
  );
  // Rows without a key are identified by their position.
  const hasIds =
    entity === undefined
      ? report.actions.some(({ argument }) => argument !== null)
      : entity.keyField !== null;
  if (!hasIds) for (const [index, row] of rows.entries()) row.id = String(index);
  await addReferencedRows(entities, columns, rows, signal);
  return rows;
}
