import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { startWorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import type { WorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import type { Delivery } from "../../dev/emulators/workflowDeliveries.ts";
import { startService } from "../helpers/service.ts";
import type { Service } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

// A server, a worker and the workflow emulator.
const secret = `whsec_${"k".repeat(42)}8=`;
const newSecret = `whsec_${"n".repeat(42)}8=`;
let service: Service;
let token: string;
let receiver: WorkflowReceiver;
let dataDir: string;
let number = 0;

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(["productsync.run"]));
  dataDir = await mkdtemp(join(tmpdir(), "office-workflow-"));
  receiver = await startWorkflowReceiver({ port: 0, secrets: [secret], dataDir });
});
afterAll(async () => {
  await endWorkers();
  await receiver?.stop();
  await rm(dataDir, { recursive: true });
  await service?.stop();
});
afterEach(async () => {
  await fetch(`${receiver.page}fault`, { method: "DELETE" });
  // Removes waiting jobs of the previous test.
  await service.database.pool.query(
    "delete from graphile_worker._private_jobs where locked_at is null",
  );
});

const startWorker = (
  settings: Record<string, string> = {},
  timeoutMs = 500,
): Promise<WorkerProcess> =>
  startWorkerProcess(
    service.database.url,
    {
      PRODUCT_SYNC_WORKFLOW_URL: receiver.url,
      PRODUCT_SYNC_WORKFLOW_SECRET: secret,
      ...settings,
    },
    { constants: { workflow: { timeoutMs } } },
  );

interface Job {
  id: string;
  state: string;
  attempts: number;
  error: string | null;
  nextAttemptAt: string | null;
}

const trigger = async (headers: Record<string, string> = {}): Promise<string> => {
  const name = `p-${(number += 1)}`;
  const { errors } = await service.ask(
    `mutation ($n: [String!]) { triggerProductSync(input: { erpProductNumbers: $n }) { accepted } }`,
    { token, variables: { n: [name] }, headers },
  );
  expect(errors).toBeUndefined();
  return name;
};
const job = async (name: string): Promise<Job> => {
  const { data } = await service.ask(
    `query ($q: String) { myJobs(query: $q) { nodes { id state attempts error nextAttemptAt } } }`,
    { token, variables: { q: `subject:"1 product: ${name}"` } },
  );
  return data.myJobs.nodes[0];
};
const until = (name: string, what: string, check: (found: Job) => boolean) =>
  waitFor(what, async () => {
    const found = await job(name);
    return check(found) && found;
  });
const succeeded = (name: string) => until(name, "success", ({ state }) => state === "SUCCEEDED");
const failedOnce = (name: string) => until(name, "a failed attempt", ({ error }) => error !== null);

/** The delivery that the emulator received for a product. */
const received = async (name: string): Promise<Delivery | undefined> => {
  const { rows } = await service.database.pool.query<{ id: string }>(
    "select id from product_sync_runs where erp_product_numbers = array[$1]",
    [name],
  );
  const response = await fetch(`${receiver.page}deliveries`);
  const { deliveries } = (await response.json()) as { deliveries: Delivery[] };
  return deliveries.find(({ webhookId }) => webhookId === rows[0]?.id);
};
const fault = (wanted: object) =>
  fetch(`${receiver.page}fault`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(wanted),
  }).then((response) => expect(response.status).toBe(200));
const waitingJob = async (name: string) => {
  const { rows } = await service.database.pool.query<{
    id: string;
    run_at: Date;
    locked_at: Date | null;
    last_error: string | null;
  }>(
    `select q.id, q.run_at, q.locked_at, q.last_error from graphile_worker._private_jobs q
     join jobs j on j.queue_job_id = q.id where j.subject = '1 product: ' || $1`,
    [name],
  );
  return rows[0];
};
/** Lets the waiting job run at once. */
const hurry = async (name: string) => {
  const waiting = await waitFor("the job to wait", async () => {
    const found = await waitingJob(name);
    return found?.locked_at === null && found;
  });
  await service.database.pool.query(
    "select graphile_worker.reschedule_jobs(array[$1::bigint], run_at => now())",
    [waiting.id],
  );
};

describe("a workflow call", () => {
  beforeAll(async () => {
    await startWorker();
  });
  afterAll(() => endWorkers());

  test("contains the run, its requester and its tenant, is signed, and is recorded", async () => {
    const name = await trigger({ "x-correlation-id": "sync-1" });
    await succeeded(name);
    const { rows } = await service.database.pool.query<{
      id: string;
      user_id: string;
      created_at: Date;
      delivered_at: Date;
    }>("select * from product_sync_runs where erp_product_numbers = array[$1]", [name]);
    const [run] = rows;
    expect(await received(name)).toEqual({
      webhookId: run?.id,
      started: true,
      attempts: [{ at: expect.any(String), outcome: "202" }],
      body: {
        type: "product_sync.requested",
        timestamp: run?.created_at.toISOString(),
        data: {
          runId: run?.id,
          erpProductNumbers: [name],
          testRunId: null,
          requestedBy: { userId: run?.user_id, apiTokenId: null },
          correlationId: "sync-1",
        },
      },
    });
    expect(run?.delivered_at).toBeInstanceOf(Date);
  });

  test("is repeated with the same id after a failure, and starts one run", async () => {
    await fault({ kind: "error" });
    const name = await trigger();
    expect(await failedOnce(name)).toMatchObject({
      state: "QUEUED",
      attempts: 1,
      error: "The workflow answered 500",
      nextAttemptAt: expect.any(String),
    });
    await hurry(name);
    expect(await succeeded(name)).toMatchObject({ attempts: 2, error: null });
    expect(await received(name)).toMatchObject({
      started: true,
      attempts: [{ outcome: "fault: error" }, { outcome: "202" }],
    });
  });

  test.each([
    ["seconds", () => "600"],
    ["a date", () => new Date(Date.now() + 600_000).toUTCString()],
  ])("is not repeated before the delay that a busy workflow requests, in %s", async (_form, at) => {
    await fault({ kind: "busy", retryAfter: at() });
    const name = await trigger();
    const { error, nextAttemptAt } = await failedOnce(name);
    expect(error).toBe("The workflow asks for fewer calls (429)");
    expect(Date.parse(nextAttemptAt ?? "") - Date.now()).toBeGreaterThan(590_000);
    const waiting = await waitFor("the job to wait", async () => {
      const found = await waitingJob(name);
      return found?.locked_at === null && found;
    });
    expect(waiting.run_at.getTime() - Date.now()).toBeGreaterThan(590_000);
  });

  test.each([
    [
      "refuse",
      'The workflow refused the call (422): {"error":{"message":"The fault \\"refuse\\" was requested"}}',
    ],
    [
      "redirect",
      "The workflow's address redirects elsewhere (307), which is not followed: correct PRODUCT_SYNC_WORKFLOW_URL",
    ],
  ])(
    "fails with the reason after the response %s, and can be retried by its owner",
    async (kind, error) => {
      await fault({ kind });
      const name = await trigger();
      const ended = await until(name, "the end", ({ state }) => state === "FAILED");
      expect(ended).toMatchObject({ attempts: 1, error });
      const { errors } = await service.ask("mutation ($id: ID!) { retryJob(id: $id) { state } }", {
        token,
        variables: { id: ended.id },
      });
      expect(errors).toBeUndefined();
      await succeeded(name);
      expect(await received(name)).toMatchObject({
        attempts: [{ outcome: `fault: ${kind}` }, { outcome: "202" }],
      });
    },
  );

  test.each([
    ["slow", "The workflow did not answer within 0.5 seconds"],
    ["drop", "The connection to the workflow failed"],
  ])(
    "is repeated with the same id when its response is lost (%s), and starts one run",
    async (kind, error) => {
      await fault({ kind, delayMs: 60_000 });
      const name = await trigger();
      expect((await failedOnce(name)).error).toBe(error);
      await hurry(name);
      await succeeded(name);
      expect(await received(name)).toMatchObject({
        started: true,
        attempts: [{ outcome: `fault after the start: ${kind}` }, { outcome: "202" }],
      });
    },
  );

  test("succeeds when the response body never ends", async () => {
    await fault({ kind: "flood" });
    const name = await trigger();
    expect(await succeeded(name)).toMatchObject({ attempts: 1 });
  });
});

describe("the signing secret", () => {
  afterEach(() => endWorkers());

  test("is used together with the old one during a rotation", async () => {
    await startWorker({ PRODUCT_SYNC_WORKFLOW_SECRET: `${newSecret}, ${secret}` });
    const name = await trigger();
    await succeeded(name);
    expect(await received(name)).toMatchObject({ started: true });
  });

  test("fails all calls and starts no run when the workflow does not know it", async () => {
    await startWorker({ PRODUCT_SYNC_WORKFLOW_SECRET: newSecret });
    const name = await trigger();
    const ended = await until(name, "the end", ({ state }) => state === "FAILED");
    expect(ended).toMatchObject({
      attempts: 1,
      error:
        'The workflow refused the call (401): {"error":{"message":"The signature is invalid"}}',
    });
    expect(await received(name)).toMatchObject({ started: false, body: null });
  });

  test("and signatures are absent from the log, the queue, job records and the audit log", async () => {
    await fault({ kind: "refuse" });
    const worker = await startWorker();
    const refused = await trigger();
    await until(refused, "the end", ({ state }) => state === "FAILED");
    await fault({ kind: "error" });
    const failed = await trigger();
    await failedOnce(failed);
    const { rows } = await service.database.pool.query<{ kept: string }>(
      `select (select coalesce(string_agg(j::text, ' '), '') from jobs j)
         || (select coalesce(string_agg(q::text, ' '), '') from graphile_worker._private_jobs q)
         || (select coalesce(string_agg(a::text, ' '), '') from audit_log a) as kept`,
    );
    await hurry(failed);
    await succeeded(failed);
    for (const text of [worker.output(), service.output(), rows[0]?.kept ?? ""]) {
      expect(text).not.toContain("whsec_");
      expect(text).not.toContain("k".repeat(20));
      expect(text).not.toMatch(/v1,[\w+/]{20}/);
    }
    await waitFor("the log", () => worker.output().includes("workflow run delivered"));
  });
});

describe("after a crash", () => {
  afterEach(() => endWorkers());

  test("of the worker between call and record, another one repeats the call and one run starts", async () => {
    await fault({ kind: "slow", delayMs: 60_000 });
    const doomed = await startWorker({}, 30_000);
    const name = await trigger();
    await waitFor("the call", () => received(name));
    doomed.signal("SIGKILL");
    await doomed.exited;
    await startWorker();
    expect(await succeeded(name)).toMatchObject({ attempts: 2, error: null });
    expect(await received(name)).toMatchObject({
      started: true,
      attempts: [{ outcome: "fault after the start: slow" }, { outcome: "202" }],
    });
  });

  test("of the workflow, runs wait without consuming attempts and start when it is back", async () => {
    const { port } = receiver;
    await receiver.stop();
    await startWorker({ WORKER_CONCURRENCY: "1" }, 2_500);
    const names: string[] = [];
    for (let n = 0; n < 8; n += 1) names.push(await trigger());
    const states = await Promise.all(names.map(failedOnce));
    receiver = await startWorkflowReceiver({ port, secrets: [secret], dataDir });
    const resting = "The workflow has failed several times in a row; calls are paused";
    expect(states.map(({ error }) => error)).toEqual([
      ...Array.from({ length: 5 }, () => "The connection to the workflow failed"),
      ...Array.from({ length: 3 }, () => resting),
    ]);
    expect(states.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 0, 0, 0]);
    await Promise.all(names.map(succeeded));
    for (const name of names) expect(await received(name)).toMatchObject({ started: true });
  });
});
