import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startWorkflowReceiver } from "../../dev/emulators/workflowReceiver.ts";
import { makeWorkflowClient } from "../../src/gateways/workflowClient.ts";
import { createLog } from "../../src/process/log.ts";
import { constants } from "../../src/settings/constants.ts";
import { workflowConfig, workflowSettings } from "../../src/settings/workflow.ts";
import { runCommand } from "../helpers/commands/run.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keys-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const rotate = (args: readonly string[], env: Record<string, string> = {}) =>
  runCommand("src/commands/rotateKeys.ts", args, env);
const old = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** The file of the command, as settings. */
async function written(file: string): Promise<Record<string, string>> {
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const lines = (await readFile(file, "utf8")).trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)));
}

test("npm run keys:rotate -- workflow adds a second secret and removes the first later", async () => {
  const both = join(folder, "both");
  const begun = await rotate(["workflow", "--write", both], { PRODUCT_SYNC_WORKFLOW_SECRET: old });
  expect(begun).toMatchObject({ code: 0 });
  expect(begun.output).not.toContain("whsec_");
  const { PRODUCT_SYNC_WORKFLOW_SECRET: signsWith = "" } = await written(both);
  const [made = "", ...others] = signsWith.split(",");
  expect(others).toEqual([old]);
  expect(made).not.toBe(old);
  const { secrets } = workflowConfig(
    (key) =>
      (key === "PRODUCT_SYNC_WORKFLOW_SECRET"
        ? workflowSettings[key].schema.parse(signsWith)
        : undefined) as never,
    constants.workflow,
  );
  for (const known of [old, made]) {
    const receiver = await startWorkflowReceiver({ port: 0, secrets: [known], dataDir: folder });
    try {
      const client = makeWorkflowClient({ url: receiver.url, secrets, timeoutMs: 5_000 });
      const call = {
        runId: `run-${known.slice(6, 12)}`,
        erpProductNumbers: ["1"],
        testRunId: null,
        requestedBy: { userId: null, apiTokenId: null },
        requestedAt: new Date(),
        correlationId: null,
      };
      await client.start(call, {
        signal: AbortSignal.timeout(5_000),
        log: createLog("silent"),
      });
    } finally {
      await receiver.stop();
    }
  }

  const env = { PRODUCT_SYNC_WORKFLOW_SECRET: signsWith };
  expect((await rotate(["workflow", "--write", join(folder, "third")], env)).code).toBe(2);
  const alone = join(folder, "alone");
  expect((await rotate(["workflow", "--finish", "--write", alone], env)).code).toBe(0);
  expect(await written(alone)).toEqual({ PRODUCT_SYNC_WORKFLOW_SECRET: made });
});

test("npm run keys:rotate overwrites no file, prints no secret and requires a choice", async () => {
  const env = { PRODUCT_SYNC_WORKFLOW_SECRET: old };
  const taken = join(folder, "taken");
  expect((await rotate(["workflow", "--write", taken], env)).code).toBe(0);
  const before = await readFile(taken, "utf8");
  const refusals = await Promise.all([
    rotate(["workflow", "--write", taken], env),
    rotate(["workflow"], env),
    rotate(["search", "--finish"]),
    rotate(["database", "--write", join(folder, "of-a-superuser")], {
      DATABASE_URL: "postgres://postgres:letmein@127.0.0.1:9/office",
    }),
  ]);
  expect(refusals.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
  expect(refusals.map(({ output }) => output).join()).not.toMatch(/whsec_|letmein/);
  expect(await readFile(taken, "utf8")).toBe(before);
  await expect(stat(join(folder, "of-a-superuser"))).rejects.toMatchObject({ code: "ENOENT" });
});
