import type { PgClient } from "postgraphile/@dataplan/pg";
import { type SQL, sql } from "postgraphile/pg-sql2";
import { badUserInput } from "../errors/PublicError.ts";
import { type OrderColumn, orderSql } from "../paging/defaultOrder.ts";

/** The arguments of `create_data_export_from_template`. */
export interface ProductExport {
  templateId: string;
  productIds?: string[] | null;
  query?: string | null;
  format: string;
}

/** The rows that a search finds in a table, in their order. */
export interface FoundRows {
  from: SQL;
  matches: (row: SQL) => SQL;
  order: readonly OrderColumn[];
}

/** Starts an export of found products by a template. The ids stay in the database, however many there are. */
export async function exportFoundProducts(
  client: PgClient,
  input: ProductExport,
  { from, matches, order }: FoundRows,
): Promise<string | null> {
  const row = sql.identifier(Symbol("product"));
  const where = matches(row);
  const counted = sql.compile(
    sql`select count(*)::integer as count, current_setting('office.export_max_products')::integer as most from ${from} as ${row} where ${where}`,
  );
  const { rows } = await client.query<{ count: number; most: number }>(statement(counted));
  const { count = 0, most = 0 } = rows[0] ?? {};
  if (count > most)
    throw badUserInput(`query: ${count} products match, more than the ${most} of one export`, {
      path: ["input", "query"],
    });
  const ids = sql`array(select ${row}.id from ${from} as ${row} where ${where} order by ${orderSql(order, row)} limit ${sql.value(most + 1)}::integer)`;
  const started = sql.compile(
    sql`select id from create_data_export_from_template(jsonb_populate_record(row(null, ${ids}, null, null)::data_export_input, ${sql.value(productExportJson(input))}::jsonb))`,
  );
  const result = await client.query<{ id: string }>(statement(started));
  return result.rows[0]?.id ?? null;
}

export function productExportJson(input: ProductExport): string {
  const { templateId, productIds, query, format } = input;
  return JSON.stringify({
    ...{ template_id: templateId, product_ids: productIds ?? undefined },
    ...{ query, format },
  });
}

function statement({ text, values }: ReturnType<typeof sql.compile>) {
  return { text, values: [...values] };
}
