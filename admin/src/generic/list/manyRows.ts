import { name } from "../../api/documents.ts";
import type { Entity } from "../../meta/entities.ts";

/** Rows that one request changes or deletes: those of a selection, or all that match a query. */
export interface ManyRows {
  chosen: { ids: readonly string[] } | { query: string };
  count: number;
}

export interface BulkResult {
  matched: number;
  changed: number;
  unchanged: number;
}

type Send = <T>(query: string, variables: Record<string, unknown>) => Promise<T>;

interface ManyRequest {
  rows: ManyRows;
  /** Checks and counts only. */
  dryRun: boolean;
}

/** Gives many rows the values of an input: all or none of them. */
export async function changeMany(
  send: Send,
  entity: Entity,
  { rows, dryRun, input }: ManyRequest & { input: Readonly<Record<string, unknown>> },
): Promise<BulkResult> {
  const document = `mutation UpdateMany($ids: [ID!], $query: String, $input: ${name(entity.canUpdate?.inputType ?? "")}!, $dryRun: Boolean!) { result: ${name(entity.canUpdate?.bulk?.field ?? "")}(ids: $ids, query: $query, input: $input, dryRun: $dryRun) { matched changed unchanged } }`;
  const { result } = await send<{ result: BulkResult }>(document, {
    ...rows.chosen,
    input,
    dryRun,
  });
  return result;
}

/** Deletes many rows: all or none of them. */
export async function deleteMany(
  send: Send,
  entity: Entity,
  { rows, dryRun }: ManyRequest,
): Promise<BulkResult> {
  const document = `mutation DeleteMany($ids: [ID!], $query: String, $dryRun: Boolean!) { result: ${name(entity.canDelete?.bulk?.field ?? "")}(ids: $ids, query: $query, dryRun: $dryRun) { matched changed unchanged } }`;
  const { result } = await send<{ result: BulkResult }>(document, { ...rows.chosen, dryRun });
  return result;
}
