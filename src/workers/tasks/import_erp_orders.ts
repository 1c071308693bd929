import type { ErpOrder, ErpPage } from "../../gateways/erp.ts";
import { ErpAnswerError, ErpCursorError } from "../../gateways/erp.ts";
import type { ErpResponse } from "../../erp/completeOrders.ts";
import { completeOrders } from "../../erp/completeOrders.ts";
import type { ErpRun } from "../../erp/defineErpTask.ts";
import { defineErpTask } from "../../erp/defineErpTask.ts";

const lineBatchSize = 5_000;

/**
 * Imports changes from the ERP since the last import, page by page: first customers, then orders. Each page commits
 * together with its cursor, so a worker that dies neither loses nor repeats a page. The first import works the same
 * way.
 */
export const importErpOrders = defineErpTask(async (run) => {
  const { client, call } = run;
  await importChanges(run, {
    entity: "customers",
    cursor: run.customerCursor,
    read: (cursor) => client.changedCustomers(cursor, call),
    complete: ({ records, unreadable }) => ({
      customers: records,
      unreadableCustomers: unreadable,
    }),
  });
  await importChanges<ErpOrder>(run, {
    entity: "orders",
    cursor: run.cursor,
    read: (cursor) => client.changedOrders(cursor, call),
    complete: ({ records, unreadable }) => completeOrders(run, records, unreadable),
  });
  await linkLines(run);
});

interface Changes<Entity> {
  entity: "customers" | "orders";
  cursor: string | null;
  read: (cursor: string | null) => Promise<ErpPage<Entity>>;
  /** Adds the related data that the page needs from the ERP. */
  complete: (page: ErpPage<Entity>) => ErpResponse | Promise<ErpResponse>;
}

async function importChanges<Entity extends { lastModified: string }>(
  run: ErpRun,
  { entity, cursor: first, read, complete }: Changes<Entity>,
): Promise<void> {
  let cursor = first;
  for (;;) {
    run.signal.throwIfAborted();
    const askedAt = await run.databaseTime();
    const page = await readPage(run, cursor, read);
    if (!page.done && page.cursor === cursor)
      throw new ErpAnswerError("The ERP returned the same page cursor twice");
    const answer = await complete(page);
    const next = await run.inTenant(async (database) => {
      const { rows } = await database.query<{ goes_on: boolean; cursor: string }>(
        "select * from import_page($1, $2, $3, $4, $5, $6, $7, $8)",
        [
          run.runId,
          entity,
          cursor,
          page.cursor,
          page.records
            .map((record) => record.lastModified)
            .toSorted()
            .at(-1),
          page.done,
          JSON.stringify({ ...answer, askedAt }),
          run.timeZone,
        ],
      );
      return rows[0];
    });
    if (!next?.goes_on) return;
    cursor = next.cursor;
  }
}

/** Reads the page after the cursor. Deletes a cursor that the ERP no longer accepts, as after a change of company. */
async function readPage<Entity>(
  run: ErpRun,
  cursor: string | null,
  read: Changes<Entity>["read"],
): Promise<ErpPage<Entity>> {
  try {
    return await read(cursor);
  } catch (error) {
    if (!(error instanceof ErpCursorError) || cursor === null) throw error;
    run.log.warn({ err: error }, "ERP cursor rejected: full import started");
    await run.inTenant((database) => database.query("select delete_erp_cursors()"));
    throw new ErpAnswerError(
      "The ERP rejected the stored cursor; the import restarts from the beginning",
      {
        cause: error,
      },
    );
  }
}

async function linkLines(run: ErpRun): Promise<void> {
  for (;;) {
    run.signal.throwIfAborted();
    const linked = await run.inTenant(async (database) => {
      const { rows } = await database.query<{ count: number }>(
        "select link_order_lines($1) as count",
        [lineBatchSize],
      );
      return rows[0]?.count ?? 0;
    });
    if (linked < lineBatchSize) return;
  }
}
