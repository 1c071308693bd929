import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readConfig } from "../../src/config.ts";
import { makeS3Files } from "../../src/gateways/s3Files.ts";
import { diskFullAt, recordDiskFull } from "../../src/health/diskFull.ts";
import { describeOutage, isOutage, outageText } from "../../src/errors/databaseErrors.ts";
import { send } from "../helpers/http.ts";
import { type ServerProcess, startServerProcess } from "../helpers/service.ts";
import { waitFor, waitForOutput } from "../helpers/waitFor.ts";
import {
  endWorkers,
  startWorkerProcess,
  type WorkerProcess,
} from "../helpers/workers/workerProcess.ts";
import { operationsUrl, scrape, valueOf } from "../helpers/metrics/exposition.ts";

// Raises PostgreSQL's error for a file that cannot grow. The fault tests, which need root, fill a real disk.
const fullDisk = `
  create function public.fail_for_room() returns trigger language plpgsql as $$
  begin
    raise exception 'could not extend file "base/16384/16412": No space left on device'
      using errcode = 'disk_full', hint = 'Check free disk space.';
  end $$;
  create trigger a_full_disk before insert or update or delete on roles
    for each statement execute function public.fail_for_room();
  create trigger a_full_disk before insert or update or delete on invitations
    for each statement execute function public.fail_for_room();`;

let service: ServerProcess;
let worker: WorkerProcess;
let token: string;

beforeAll(async () => {
  service = await startServerProcess({ env: { METRICS_PORT: "0" } });
  worker = await startWorkerProcess(service.database.url, { METRICS_PORT: "0" });
  ({ token } = await service.login(["roles.create", "users.read"]));
});
afterAll(async () => {
  await endWorkers();
  await service.stop();
});

const createRole = 'mutation { createRole(input: { name: "A", permissionKeys: [] }) { id } }';
const health = async (output: string) => {
  const response = await fetch(`${operationsUrl(output)}/health`);
  const { status, systems } = (await response.json()) as {
    status: string;
    systems: { name: string; state: string; detail?: string }[];
  };
  return { http: response.status, status, database: systems.find((s) => s.name === "database") };
};
const isFull = async (output: string, system = "database") =>
  valueOf(await scrape(operationsUrl(output)), "office_disk_full", { system });
const linesOf = (output: string) =>
  output
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("a disk is not full at first", async () => {
  expect(await isFull(service.output())).toBe(0);
  expect(await isFull(worker.output())).toBe(0);
  expect(await isFull(worker.output(), "local disk")).toBe(0);
});

test("a change on a full disk is answered 503 and logged, and the server stays ready", async () => {
  await service.database.pool.query(fullDisk);
  const answer = await service.ask(createRole, { token });
  expect(answer).toMatchObject({
    status: 503,
    errors: [
      {
        message: "The database has no disk space left: try again later",
        extensions: { code: "UNAVAILABLE" },
      },
    ],
  });
  expect(answer.headers.get("retry-after")).toBe("2");
  await waitForOutput(service, '"msg":"database disk full"');
  const events = linesOf(service.output()).map(({ msg }) => msg);
  expect(events).not.toContain("database unreachable");
  expect((await send(service.url, { method: "GET", path: "/readyz" })).status).toBe(200);
  expect((await service.ask("{ users { id } }", { token })).status).toBe(200);
});

test("shows a full disk in /health and the metrics of the server", async () => {
  // The health page caches its checks for five seconds.
  const found = await waitFor("the page", async () => {
    const now = await health(service.output());
    return now.status === "degraded" && now;
  });
  expect(found.http).toBe(200);
  expect(found.database).toMatchObject({
    state: "full",
    detail: expect.stringMatching(/^disk full at \d{4}-\d\d-\d\dT/),
  });
  expect(await isFull(service.output())).toBe(1);
});

test("a full disk in a job is shown by the worker's log, /health and metrics", async () => {
  await service.database.pool.query("select enqueue_job('expire_invitations', '{}', 'full')");
  await waitFor("the metric", async () => (await isFull(worker.output())) === 1);
  const line = await waitFor("the line", () =>
    linesOf(worker.output()).find(({ msg }) => msg === "job failed"),
  );
  expect(line).toMatchObject({ outage: "database disk full", error: { code: "53100" } });
  expect(await health(worker.output())).toMatchObject({ database: { state: "full" } });
});

test.each([
  [
    { severity: "PANIC", code: "53100", message: "could not write to file" },
    "has no disk space left",
  ],
  [
    { severity: "ERROR", code: "XX000", message: "x: Disk quota exceeded" },
    "has no disk space left",
  ],
  [{ severity: "ERROR", code: "53200", message: "out of memory" }, "cannot be reached"],
  [{ severity: "FATAL", code: "57P03", message: "in recovery mode" }, "cannot be reached"],
])("a command with the error %j reports a full disk", (fields, what) => {
  const error = Object.assign(new Error(fields.message), fields);
  expect(isOutage(error)).toBe(true);
  expect(outageText("The database", error)).toMatch(`The database ${what}`);
});

test("an error of a broken connection mentions a full disk", () => {
  recordDiskFull("database");
  const broken = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  expect(describeOutage(broken)).toEqual({
    event: "database unreachable",
    fields: { err: broken, diskFullAt: expect.any(Date) },
  });
});

test.each([
  [507, "XMinioStorageFull"],
  [507, "InsufficientStorage"],
  [403, "QuotaExceeded"],
])(
  "an object store that answers %i %s is distinguished from one that is down",
  async (status, code) => {
    const store = createServer((request, response) => {
      request.resume();
      const isWrite = request.method === "PUT";
      response.writeHead(isWrite ? status : 200, { "content-type": "application/xml" });
      response.end(
        isWrite
          ? `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no room</Message></Error>`
          : `<?xml version="1.0"?><ListBucketResult><Name>b</Name><KeyCount>0</KeyCount></ListBucketResult>`,
      );
    });
    store.listen(0, "127.0.0.1");
    await once(store, "listening");
    const endpoint = `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
    const env = { S3_ENDPOINT: endpoint, S3_ACCESS_KEY_ID: "k", S3_SECRET_ACCESS_KEY: "s" };
    const files = makeS3Files(readConfig({ NODE_ENV: "test", ...env }).files);
    const { signal } = new AbortController();
    try {
      for (let round = 0; round < 6; round++)
        await expect(files.write("key", Readable.from([Buffer.from("a")]), signal)).rejects.toThrow(
          "The file store is full",
        );
      expect(files.circuit()).toBe("closed");
      expect(diskFullAt("files")).toBeInstanceOf(Date);
    } finally {
      files.close();
      store.close();
    }
  },
);
