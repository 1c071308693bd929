import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { crontab } from "../../src/workers/tasks.ts";
import type { QueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { tenant, createQueueDatabase } from "../helpers/workers/queueDatabase.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let db: QueueDatabase;

beforeAll(async () => {
  db = await createQueueDatabase();
});
afterAll(async () => {
  await endWorkers();
  await db?.drop();
});

test("deletes idempotency keys that are a day old, in an hourly job", async () => {
  await db.query(
    `insert into ${tenant}.idempotency_keys (principal, key_hash, request_hash, permissions, created_at)
     select 'user:x', n::text::bytea, '', '{}', now() - make_interval(hours => n) from unnest(array[0, 23, 24, 48]) n`,
  );
  await startWorkerProcess(db.url);
  await db.waitUntilGone(await db.enqueue("remove_old_idempotency_keys", {}));
  const { rows } = await db.query<{ hours: number }>(
    `select convert_from(key_hash, 'UTF8')::integer as hours from ${tenant}.idempotency_keys order by 1`,
  );
  expect(rows.map(({ hours }) => hours)).toEqual([0, 23]);
  expect(crontab(tenant)).toContainEqual(
    expect.objectContaining({ task: "remove_old_idempotency_keys", match: "37 * * * *" }),
  );
});
