import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { ErpWorld } from "../helpers/workers/erpWorld.ts";
import { startErpWorld } from "../helpers/workers/erpWorld.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

let world: ErpWorld;
let service: Service;

/** The worker finds changes itself; scheduled imports would fail as well. */
beforeAll(async () => {
  world = await startErpWorld({ orders: 20, customers: 20 });
  service = await startService({ database: world.database });
  await world.sql("update erp_schedule set next_at = now() + interval '1 day'");
  await startWorkerProcess(world.database.url, world.env, { constants: world.constants });
});
afterAll(async () => {
  await endWorkers();
  await service.stop();
  await world.erp.stop();
});

const reader = () => service.login(["erpsync.read"], `${randomUUID()}@example.com`);
async function watch(token: string, entity: string, query: string): Promise<string> {
  const { data, errors } = await service.ask(
    "mutation ($input: CreateSearchWatchInput!) { createSearchWatch(input: $input) { id } }",
    { token, variables: { input: { name: "Imports", entity, query } } },
  );
  expect(errors).toBeUndefined();
  return data.createSearchWatch.id as string;
}
const events = async (id: string) =>
  (
    await world.sql<{ body: string }>(
      "select body from notifications where entity_id = $1 order by created_at, id",
      [id],
    )
  ).flatMap(({ body }) => body.split("\n"));
const count = async (id: string) =>
  (
    await world.sql<{ count: number }>(
      "select match_count as count from search_watches where id = $1",
      [id],
    )
  )[0]!.count;
const allHandled = () =>
  waitFor("all changes to be handled", async () => {
    const [row] = await world.sql<{ handled: boolean }>(
      `select not exists (select from row_changes where reader = 'watches')
         and not exists (select from search_watches w join users u on u.id = w.user_id
           where u.is_active and (w.due_at is not null or not w.is_ready)) as handled`,
    );
    return row!.handled;
  });
const failedImport = async () => {
  await world.control("POST tokens/expire");
  await world.control("POST faults", { kind: "status", status: 401, times: 1_000 });
  const run = await world.runToEnd("IMPORT");
  await world.control("DELETE faults");
  expect(run.status).toBe("FAILED");
};

test("a watch reports a failed import once", async () => {
  const { token } = await reader();
  const id = await watch(token, "erpSyncRuns", "status:FAILED");
  await world.runToEnd("IMPORT");
  await failedImport();
  await allHandled();
  // The run fails before or after the job has read its first changes.
  expect(await events(id)).toEqual([expect.stringMatching(/^(New|Matches): IMPORT$/)]);
  await world.runToEnd("IMPORT");
  await allHandled();
  expect(await count(id)).toBe(1);
});

test("a watch neither shows nor counts a failed import that its owner can no longer read", async () => {
  const { token, roleId } = await reader();
  const id = await watch(token, "erpSyncRuns", "status:FAILED");
  await world.sql("delete from role_permissions where role_id = $1", [roleId]);
  await failedImport();
  await allHandled();
  expect(await events(id)).toEqual([]);
  expect(await count(id)).toBe(0);
});

test("a watch reports an order that could not be read", async () => {
  const { token } = await reader();
  const id = await watch(token, "erpImportFailures", "erpOrderNumber:S-*");
  await world.sql("select record_erp_failures($1, now())", [
    JSON.stringify([{ kind: "order", number: "S-1", path: "lines", message: "must be a list" }]),
  ]);
  await allHandled();
  expect(await events(id)).toEqual(["New: S-1"]);
});

test("a watch reports an absence of a colleague", async () => {
  const { token, userId } = await reader();
  const id = await watch(token, "awayPeriods", "startsOn:2027-11-04");
  await world.sql(
    `insert into absences (user_id, type, starts_on, ends_on, status, decided_at)
     values ($1, 'VACATION', '2027-11-04', '2027-11-05', 'APPROVED', now())`,
    [userId],
  );
  await allHandled();
  expect(await events(id)).toHaveLength(1);
  expect(await count(id)).toBe(1);
});

test("a watch of absences names the person", async () => {
  const { token, userId } = await service.login([], "astrid@example.com");
  const id = await watch(token, "absences", "startsOn:2027-11-08");
  await world.sql(
    "insert into absences (user_id, type, starts_on, ends_on) values ($1, 'SICK', '2027-11-08', '2027-11-08')",
    [userId],
  );
  await allHandled();
  expect(await events(id)).toEqual(["New: astrid"]);
});
