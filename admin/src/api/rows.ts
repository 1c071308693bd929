import type {
  Entities,
  Entity,
  EntityField,
  EntityParent,
  EntityRelation,
} from "../meta/entities.ts";
import { quoteValue } from "../meta/queryTokens.ts";
import type { Row } from "../meta/rows.ts";
import { ask } from "./ask.ts";
import { listDocument, childRowsDocument } from "./documents.ts";
import { addReferencedRows } from "./referencedRows.ts";

/** The parent row of rows without a root list, such as the product of its prices. */
export interface ParentRow {
  entity: Entity;
  id: string;
  parent: EntityParent;
}

/** The rows to fetch. */
export interface RowsRequest {
  entity: Entity;
  columns: readonly EntityField[];
  order: readonly string[];
  /** A text in the query language; empty for all rows, and for child rows. */
  query: string;
  parentRow: ParentRow | null;
  first: number;
  offset: number;
  /** Whether to count all matching rows. */
  count: boolean;
}

export interface RowsPage {
  /** Null when no count was requested. */
  totalCount: number | null;
  nodes: Row[];
  /** Whether `nodes` contains all rows, because the API has no pages of them. */
  isWhole: boolean;
}

export interface Page {
  totalCount: number | null;
  nodes: Row[];
}

/** The request for the rows of `other` that refer to the row `id`. */
export function relatedRowsRequest(
  entity: Entity,
  { by }: EntityRelation,
  other: Entity,
  id: string,
): Pick<RowsRequest, "query" | "parentRow"> {
  if (other.pagesField !== null) return { query: `${by}:${quoteValue(id)}`, parentRow: null };
  const parent = other.parents.find((field) => field.entity === entity.name && field.by === by);
  if (!parent) throw new Error(`${entity.name} has no field with its ${other.name}`);
  return { query: "", parentRow: { entity, id, parent } };
}

/** Fetches one page of rows with the names of the rows that they refer to. */
export async function fetchRows(
  entities: Entities,
  request: RowsRequest,
  signal?: AbortSignal,
): Promise<RowsPage> {
  const { entity, columns, offset } = request;
  const page = await (request.parentRow === null
    ? fetchListedRows(request, signal)
    : fetchChildRows(request, request.parentRow, signal));
  // Rows without a key are identified by their position in the list.
  if (entity.keyField === null)
    for (const [index, row] of page.nodes.entries()) row.id = String(offset + index);
  await addReferencedRows(entities, columns, page.nodes, signal);
  return page;
}

async function fetchListedRows(
  { entity, columns, order, query, first, offset, count }: RowsRequest,
  signal?: AbortSignal,
): Promise<RowsPage> {
  const { page } = await ask<{ page: Page }>(
    listDocument(entity, columns, order),
    { query: query === "" ? null : query, first, offset, count },
    { signal },
  );
  return { ...page, isWhole: false };
}

async function fetchChildRows(
  { entity, columns, order, first, offset, count }: RowsRequest,
  { entity: upper, id, parent }: ParentRow,
  signal?: AbortSignal,
): Promise<RowsPage> {
  const query = `${upper.keyField ?? "id"}:${quoteValue(id)}`;
  const { upper: found } = await ask<ChildRows>(
    childRowsDocument(entity, upper, parent, columns, order),
    parent.shape === "CONNECTION" ? { query, first, offset, count } : { query },
    { signal },
  );
  return pageOfChildRows(parent, found);
}

/** The answer of a document with child rows: those of the only row of `upper`. */
export interface ChildRows {
  upper: { nodes: { rows: Page | Row[] | Row | null }[] };
}

/** The child rows in the answer as a page. */
export function pageOfChildRows({ shape }: EntityParent, upper: ChildRows["upper"]): RowsPage {
  const rows = upper.nodes[0]?.rows ?? [];
  if (shape === "CONNECTION" && !Array.isArray(rows)) return { ...(rows as Page), isWhole: false };
  const nodes = [rows as Row[] | Row].flat();
  return { nodes, totalCount: nodes.length, isWhole: true };
}
