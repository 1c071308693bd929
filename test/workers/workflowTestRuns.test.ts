import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { startEmulators, needsEmulators } from "../../dev/emulators/startEmulators.ts";
import type { Delivery } from "../../dev/emulators/workflowDeliveries.ts";
import { startWorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import type { WorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import { readConfig } from "../../src/config.ts";
import { startService } from "../helpers/service.ts";
import type { Service } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { bootstrap, cleanUp, run } from "../helpers/http/testRuns.ts";
import { endWorkers, startWorkerProcess } from "../helpers/workers/workerProcess.ts";

// A deployment with a real workflow, which calls of test runs must not reach.
const secret = `whsec_${"k".repeat(42)}8=`;
const headers = run("workflow_1");
let service: Service;
let workflow: WorkflowReceiver;
let recorder: WorkflowReceiver;
let folder: string;
let token: string;

beforeAll(async () => {
  service = await startService({ env: { ENABLE_E2E_TEST_MODE: "true" } });
  folder = await mkdtemp(join(tmpdir(), "office-workflow-"));
  const receiver = (name: string) =>
    startWorkflowReceiver({ port: 0, secrets: [secret], dataDir: join(folder, name) });
  [workflow, recorder] = await Promise.all([receiver("workflow"), receiver("recorder")]);
  ({ token } = await bootstrap(service, headers, "first@example.com"));
});
afterEach(() => endWorkers());
afterAll(async () => {
  await cleanUp(service, "workflow_1");
  await Promise.all([workflow?.stop(), recorder?.stop()]);
  await rm(folder, { recursive: true });
  await service?.stop();
});

const startWorker = (settings: Record<string, string> = {}) =>
  startWorkerProcess(service.database.url, {
    PRODUCT_SYNC_WORKFLOW_URL: workflow.url,
    PRODUCT_SYNC_WORKFLOW_SECRET: secret,
    ...settings,
  });

async function trigger(number: string): Promise<void> {
  const { data, errors } = await service.ask(
    `mutation ($n: [String!]) { triggerProductSync(input: { erpProductNumbers: $n }) { accepted } }`,
    { token, variables: { n: [number] }, headers },
  );
  expect(errors).toBeUndefined();
  expect(data.triggerProductSync.accepted).toBe(true);
}

const succeeded = (number: string) =>
  waitFor("success", async () => {
    const { data } = await service.ask(
      `query ($q: String) { myJobs(query: $q) { nodes { state } } }`,
      { token, variables: { q: `subject:"1 product: ${number}"` }, headers },
    );
    return data.myJobs.nodes[0]?.state === "SUCCEEDED";
  });

async function receivedBy({ page }: { page: string }): Promise<readonly Delivery[]> {
  const response = await fetch(`${page}deliveries`);
  return ((await response.json()) as { deliveries: Delivery[] }).deliveries;
}

test("calls the recorder instead of the workflow, with the run's id", async () => {
  await startWorker({ PRODUCT_SYNC_RECORDER_URL: recorder.url });
  await trigger("p-1");
  await succeeded("p-1");
  expect(await receivedBy(recorder)).toMatchObject([
    { started: true, body: { data: { testRunId: "workflow_1", erpProductNumbers: ["p-1"] } } },
  ]);
  expect(await receivedBy(workflow)).toEqual([]);
});

test("only logs the call without a recorder", async () => {
  const worker = await startWorker();
  await trigger("p-2");
  await succeeded("p-2");
  const line = () =>
    worker
      .output()
      .split("\n")
      .find((one) => one.includes("test run's workflow call logged only"));
  await waitFor("the log line", () => line() !== undefined);
  expect(line()).toContain('"testRunId":"workflow_1"');
  expect(line()).toContain('"erpProductNumbers":["p-2"]');
  expect(await receivedBy(workflow)).toEqual([]);
});

test("the main tenant of the same worker calls the workflow", async () => {
  await startWorker({ PRODUCT_SYNC_RECORDER_URL: recorder.url });
  const staff = await service.login(["productsync.run"]);
  const before = (await receivedBy(recorder)).length;
  await service.ask(
    `mutation { triggerProductSync(input: { erpProductNumbers: ["p-3"] }) { accepted } }`,
    { token: staff.token },
  );
  const [call] = await waitFor("the call", async () => {
    const calls = await receivedBy(workflow);
    return calls.length > 0 && calls;
  });
  expect(call?.body).toMatchObject({ data: { testRunId: null, erpProductNumbers: ["p-3"] } });
  expect(await receivedBy(recorder)).toHaveLength(before);
});

/** The other emulators are disabled by the configuration. */
const real = {
  ENABLE_E2E_TEST_MODE: "true",
  PRODUCT_SYNC_WORKFLOW_URL: "https://workflows.example/product-sync",
  PRODUCT_SYNC_WORKFLOW_SECRET: secret,
  OIDC_PROVIDERS: "[]",
  ERP_CLIENT_ID: "a",
  TYPESENSE_URL: "http://127.0.0.1:1",
  AI_MODEL: "a",
  S3_ENDPOINT: "http://127.0.0.1:1",
};

function configOf(env: Record<string, string>) {
  const { ENABLE_E2E_TEST_MODE = "false" } = env;
  return readConfig({
    DATA_DIR: folder,
    ENABLE_E2E_TEST_MODE,
    PRODUCT_SYNC_WORKFLOW_URL: real.PRODUCT_SYNC_WORKFLOW_URL,
    PRODUCT_SYNC_WORKFLOW_SECRET: secret,
  });
}

test("npm start runs a recorder for test runs beside a real workflow", async () => {
  expect(needsEmulators(configOf(real), real)).toBe(true);
  const emulators = await startEmulators(configOf(real), real, () => {}, 10);
  const { PRODUCT_SYNC_RECORDER_URL: url = "", ...others } = emulators.env;
  expect(others).toEqual({});
  expect((await fetch(new URL("/deliveries", url))).status).toBe(200);
  await emulators.stop();
});

test("npm start runs no recorder beside a real workflow without test mode", () => {
  const env = { ...real, ENABLE_E2E_TEST_MODE: "false" };
  expect(needsEmulators(configOf(env), env)).toBe(false);
});

test("rejects a recorder in production, and one without a secret", () => {
  const url = { PRODUCT_SYNC_RECORDER_URL: "http://127.0.0.1:1/" };
  expect(() => readConfig(url)).toThrow(
    "PRODUCT_SYNC_WORKFLOW_SECRET is required with PRODUCT_SYNC_RECORDER_URL",
  );
  expect(() => readConfig({ ...url, NODE_ENV: "production" })).toThrow(
    "PRODUCT_SYNC_RECORDER_URL must not be set in production",
  );
});
