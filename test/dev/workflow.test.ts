import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Webhook } from "standardwebhooks";
import type { Delivery } from "../../dev/emulators/workflowDeliveries.ts";
import { startWorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import type { WorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";

const secret = `whsec_${"k".repeat(42)}8=`;
let receiver: WorkflowReceiver;
let dataDir: string;

const start = async (port = 0) => {
  receiver = await startWorkflowReceiver({ port, secrets: [secret], dataDir });
};
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "office-workflow-"));
  await start();
});
afterEach(async () => {
  await receiver.stop();
  await rm(dataDir, { recursive: true });
});

const send = (
  id: string,
  body: string,
  {
    at = new Date(),
    key = secret,
    signed = body,
  }: { at?: Date; key?: string; signed?: string } = {},
) =>
  fetch(receiver.url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(key).sign(id, at, signed),
    },
    body,
  });
const deliveries = async () => {
  const response = await fetch(`${receiver.page}deliveries`);
  return ((await response.json()) as { deliveries: Delivery[] }).deliveries;
};
const page = async () => (await fetch(receiver.page)).text();

describe("the embedded receiver", () => {
  test("starts one run for repeated calls and shows it on a page and as JSON", async () => {
    const body = JSON.stringify({ data: { erpProductNumbers: ["<b>1</b>"] } });
    expect(await (await send("run-1", body)).json()).toEqual({ runId: "run-1", started: true });
    expect(await (await send("run-1", body)).json()).toEqual({ runId: "run-1", started: false });
    expect(await deliveries()).toMatchObject([
      {
        webhookId: "run-1",
        started: true,
        attempts: [{ outcome: "202" }, { outcome: "202" }],
        body: JSON.parse(body),
      },
    ]);
    const html = await page();
    expect(html).toContain("run-1: started");
    expect(html).toContain("&lt;b&gt;1&lt;/b&gt;");
    expect(html).not.toContain("<b>1</b>");
  });

  test.each([
    ["another secret", { key: `whsec_${"x".repeat(42)}8=` }],
    ["a body that was changed on its way", { signed: "{}" }],
    ["a time of ten minutes ago", { at: new Date(Date.now() - 600_000) }],
    ["a time ten minutes ahead", { at: new Date(Date.now() + 600_000) }],
  ])("rejects a call signed with %s and stores nothing", async (_what, how) => {
    const response = await send("run-2", '{"data":"hunter2"}', how);
    expect(response.status).toBe(401);
    expect(await deliveries()).toMatchObject([{ webhookId: "run-2", started: false, body: null }]);
    expect(await page()).not.toContain("hunter2");
  });

  test("rejects a call without a signature, and one that is too large", async () => {
    const plain = await fetch(receiver.url, { method: "POST", body: "{}" });
    expect(plain.status).toBe(401);
    const large = await send("large", JSON.stringify("x".repeat(1024 * 1024)));
    expect(large.status).toBe(400);
  });

  test("keeps the last hundred runs over a restart", async () => {
    await send("run-0", "{}");
    for (let n = 1; n <= 100; n += 1) await send(`run-${n}`, "{}");
    const { port } = receiver;
    await receiver.stop();
    await start(port);
    const kept = await deliveries();
    expect(kept).toHaveLength(100);
    expect(kept[0]?.webhookId).toBe("run-100");
    expect(await (await send("run-100", "{}")).json()).toEqual({
      runId: "run-100",
      started: false,
    });
  });

  test("starts empty when its file cannot be read", async () => {
    await receiver.stop();
    await writeFile(join(dataDir, "deliveries.json"), '[{"webhookId":');
    await start();
    expect(await deliveries()).toEqual([]);
  });

  test("fails as often as requested, and lists its faults", async () => {
    const fault = (value: unknown, type = "application/json") =>
      fetch(`${receiver.page}fault`, {
        method: "PUT",
        headers: { "content-type": type },
        body: JSON.stringify(value),
      });
    await fault({ kind: "error", times: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await send("run-3", "{}")).status);
    expect(statuses).toEqual([500, 500, 202]);
    const unknown = await fault({ kind: "sleepy" });
    expect(unknown.status).toBe(400);
    expect(await unknown.text()).toContain(
      "must be error, busy, refuse, redirect, drop, slow or flood",
    );
    // Like a form of another site.
    expect((await fault({ kind: "error" }, "text/plain")).status).toBe(400);
    await fault({ kind: "error" });
    await fetch(`${receiver.page}fault`, { method: "DELETE" });
    expect((await send("run-3", "{}")).status).toBe(202);
  });
});
