import type { ErpOrder, ErpPage } from "../../gateways/erp.ts";
import { ErpAnswerError, ErpCursorError } from "../../gateways/erp.ts";
import type { ErpResponse } from "../../erp/completeOrders.ts";
import { completeOrders } from "../../erp/completeOrders.ts";
import type { ErpRun } from "../../erp/defineErpTask.ts";
import { defineErpTask } from "../../erp/defineErpTask.ts";

const linesAtATime = 5_000;

/**
 * Imports what changed in the ERP since the last import, page by page: first customers, then orders. Each page is committed
 * together with the cursor behind it, so that a worker that dies loses and repeats nothing; the first import of all goes the
 * same way.
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
  /** What of the page is taken over, with what else has to be asked for. */
  complete: (page: ErpPage<Entity>) => ErpResponse | Promise<ErpResponse>;
}

async function importChanges<Entity extends { lastModified: string }>(
  run: ErpRun,
  { entity, cursor: first, read, complete }: Changes<Entity>,
): Promise<void> {
  let cursor = first;
  for (;;) {
    run.signal.throwIfAborted();
    const page = await fromThere(run, cursor, read);
    if (!page.done && page.cursor === cursor)
      throw new ErpAnswerError("The ERP's pages do not go on");
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
          JSON.stringify(answer),
          run.timeZone,
        ],
      );
      return rows[0];
    });
    if (!next?.goes_on) return;
    cursor = next.cursor;
  }
}

/** A page behind the cursor. One that cannot be read any more, as after a change of company, is forgotten. */
async function fromThere<Entity>(
  run: ErpRun,
  cursor: string | null,
  read: Changes<Entity>["read"],
): Promise<ErpPage<Entity>> {
  try {
    return await read(cursor);
  } catch (error) {
    if (!(error instanceof ErpCursorError) || cursor === null) throw error;
    run.log.warn({ err: error }, "the cursor cannot be read: all is imported anew");
    await run.inTenant((database) => database.query("select delete_erp_cursors()"));
    throw new ErpAnswerError("The stored cursor could not be read: the import begins anew", {
      cause: error,
    });
  }
}

async function linkLines(run: ErpRun): Promise<void> {
  for (;;) {
    run.signal.throwIfAborted();
    const linked = await run.inTenant(async (database) => {
      const { rows } = await database.query<{ count: number }>(
        "select link_order_lines($1) as count",
        [linesAtATime],
      );
      return rows[0]?.count ?? 0;
    });
    if (linked < linesAtATime) return;
  }
}
