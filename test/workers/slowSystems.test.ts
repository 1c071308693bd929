import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { afterEach, expect, test } from "@jest/globals";
import { startHostileErp } from "../helpers/gateways/hostileErp.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { startErpWorld } from "../helpers/workers/erpWorld.ts";
import { createInvitationDatabase } from "../helpers/workers/invitationDatabase.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

afterEach(() => endWorkers());

test("an ERP that does not answer leaves a slot for other jobs", async () => {
  const world = await startErpWorld({ orders: 12, customers: 5 });
  const hostile = await startHostileErp(world.env["ERP_BASE_URL"] ?? "");
  try {
    let asked = 0;
    for (const set of ["salesOrders", "customers"]) hostile.overrideResponses(set, () => asked++);
    await world.sql("update erp_schedule set next_at = 'infinity'");
    for (const kind of ["IMPORT", "RECHECK", "DATA_RECHECK"] as const) await world.queue(kind);
    for (let index = 1; index <= 6; index++) await world.queue("ORDER", `S-ORD10000${index}`);
    await startWorkerProcess(
      world.database.url,
      { ...world.env, ERP_BASE_URL: hostile.baseUrl, WORKER_CONCURRENCY: "4" },
      { constants: { ...world.constants, erp: { ...world.constants.erp, timeoutMs: 60_000 } } },
    );
    await waitFor("an import and a run of one order to ask the ERP", () => asked >= 2);
    await world.sql("select enqueue_job('remove_files', '{}', 'slow system')");
    await waitFor("another job to end", async () => {
      const [row] = await world.sql<{ is_open: boolean }>(
        "select is_queued('remove_files', 'slow system') as is_open",
      );
      return row?.is_open === false;
    });
    // None of the runs has ended meanwhile.
    expect(
      await world.sql(
        "select from erp_sync_runs where finished_at is not null and kind in ('IMPORT', 'ORDER')",
      ),
    ).toEqual([]);
  } finally {
    await endWorkers();
    await hostile.stop();
    await world.stop();
  }
});

test("a mail server that does not answer takes one slot", async () => {
  const database = await createInvitationDatabase();
  let connections = 0;
  const smtp = createServer(() => connections++);
  smtp.listen(0, "127.0.0.1");
  await once(smtp, "listening");
  try {
    for (let index = 0; index < 8; index++) await database.invite(`guest${index}@example.com`);
    const { port } = smtp.address() as AddressInfo;
    await startWorkerProcess(database.url, {
      SMTP_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: "office@example.com",
      WORKER_CONCURRENCY: "4",
    });
    await waitFor("a mail to be sent", () => connections > 0);
    await database.pool.query("select enqueue_job('remove_files', '{}', 'slow system')");
    await waitFor("another job to end", async () => {
      const { rows } = await database.pool.query<{ is_open: boolean }>(
        "select is_queued('remove_files', 'slow system') as is_open",
      );
      return rows[0]?.is_open === false;
    });
    expect(connections).toBe(1);
  } finally {
    await endWorkers();
    smtp.close();
    await database.drop();
  }
});
