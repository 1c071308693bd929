import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startSearchEngine } from "../../dev/emulators/searchEngine.ts";
import { type TestFiles, startTestFiles } from "../helpers/fileServer.ts";
import { type Service, startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import { type MailServer, startMailServer } from "../helpers/workers/mailServer.ts";
import {
  endWorkers,
  startWorkerProcess,
  type WorkerProcess,
} from "../helpers/workers/workerProcess.ts";

interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  service: string;
}

const spans: ReceivedSpan[] = [];
/** An OTLP receiver for the exporters of server and worker, like a collector. */
const receiver = createServer((request, response) => {
  let text = "";
  request.setEncoding("utf8");
  request.on("data", (chunk: string) => (text += chunk));
  request.on("end", () => {
    const { resourceSpans } = JSON.parse(text) as {
      resourceSpans: {
        resource: { attributes: ReceivedSpan["attributes"] };
        scopeSpans: { spans: Omit<ReceivedSpan, "service">[] }[];
      }[];
    };
    for (const { resource, scopeSpans } of resourceSpans) {
      const service =
        resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? "";
      for (const span of scopeSpans.flatMap((scope) => scope.spans))
        spans.push({ ...span, service });
    }
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
});
/** The product-sync workflow, which records its calls. */
const calls: Record<string, unknown>[] = [];
const workflow = createServer((request, response) => {
  calls.push(request.headers);
  response.writeHead(202).end();
});

let mail: MailServer;
let files: TestFiles;
let engine: Awaited<ReturnType<typeof startSearchEngine>>;
const apiKey = "k".repeat(32);
let folder: string;
let service: Service;
let worker: WorkerProcess;

const addressOf = (server: typeof receiver) =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const attribute = (span: ReceivedSpan, name: string) =>
  span.attributes.find(({ key }) => key === name)?.value.stringValue;

beforeAll(async () => {
  for (const server of [receiver, workflow]) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  folder = await mkdtemp(join(tmpdir(), "spans-"));
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: addressOf(receiver) };
  service = await startServerProcess({ env });
  [mail, files, engine] = await Promise.all([
    startMailServer(),
    startTestFiles(),
    startSearchEngine({ port: 0, apiKey, dataDir: folder }),
  ]);
  worker = await startWorkerProcess(service.database.url, {
    ...env,
    ...files.env(),
    TYPESENSE_URL: engine.url,
    TYPESENSE_API_KEY: apiKey,
    SMTP_URL: mail.url,
    MAIL_FROM: "Back office <office@wine.example>",
    INVITATION_URL: "https://office.example/login",
    PRODUCT_SYNC_WORKFLOW_URL: addressOf(workflow),
    PRODUCT_SYNC_WORKFLOW_SECRET: `whsec_${"k".repeat(43)}=`,
  });
});
afterAll(async () => {
  await endWorkers();
  await service.stop();
  await Promise.all([mail.close(), files.stop(), engine.stop()]);
  await rm(folder, { recursive: true, force: true });
  receiver.close();
  workflow.close();
});

test("one correlation id connects log, database, audit row, job and trace", async () => {
  const { pool } = service.database;
  const correlationId = "order-4711/retry.1";
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const { token } = await service.login(["productsync.run", "erpsync.run"]);

  // Another transaction holds a lock, so that the waiting mutation can be observed.
  const holder = await pool.connect();
  await holder.query("begin; lock table product_sync_runs in exclusive mode");
  const asked = service.ask(
    'mutation { triggerProductSync(input: { erpProductNumbers: ["000123"] }) { accepted } }',
    {
      token,
      headers: {
        "x-correlation-id": correlationId,
        // Answered by Grafast, because the SQL-JSON path does not support it.
        "idempotency-key": "once",
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
      },
    },
  );
  try {
    await waitFor("the statement to be seen waiting under the id", async () => {
      // Uses another connection, because a transaction caches pg_stat_activity at its first read.
      const { rowCount } = await pool.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and application_name = $1",
        [`office ${correlationId}`],
      );
      return rowCount === 1;
    });
  } finally {
    await holder.query("rollback");
    holder.release();
  }
  expect((await asked).data).toEqual({ triggerProductSync: { accepted: true } });
  const { rows: jobs } = await pool.query<{ correlation_id: string }>(
    "select correlation_id from jobs",
  );
  // The job's record, the audit row of its change, and the lines of both logs.
  expect(jobs).toEqual([{ correlation_id: correlationId }]);
  const { rows: audited } = await pool.query(
    "select distinct correlation_id from audit_log where operation = 'CREATE' and entity_type like 'ProductSync%'",
  );
  expect(audited).toEqual([{ correlation_id: correlationId }]);
  const line = new RegExp(
    `"correlationId":"${correlationId}","traceId":"${traceId}".*"path":"/graphql"`,
  );
  await waitFor("the server's line", () => line.test(service.output()));
  await waitFor("the worker's line", () =>
    worker.output().includes(`"correlationId":"${correlationId}"`),
  );

  // The workflow was called in the same trace, by a span of the worker's.
  await waitFor("the workflow to be called", () => calls.length > 0);
  const [, calledIn, callSpan] = String(calls[0]?.["traceparent"]).split("-");
  expect(calledIn).toBe(traceId);

  await waitFor("all spans to arrive", () =>
    ["graphql triggerProductSync", "job product_sync", "POST"].every((name) =>
      spans.some((span) => span.name === name),
    ),
  );
  const inTrace = spans.filter((span) => span.traceId === traceId);
  const named = (name: string) => inTrace.find((span) => span.name === name);
  const request = named("graphql triggerProductSync")!;
  expect(request.parentSpanId).toBe("b7ad6b7169203331");
  expect(attribute(request, "office.correlation_id")).toBe(correlationId);
  const executed = named("graphql.execute")!;
  expect(executed.parentSpanId).toBe(request.spanId);
  const statements = inTrace.filter(
    ({ parentSpanId, name }) => parentSpanId === executed.spanId && name.startsWith("SQL "),
  );
  expect(statements.map((span) => attribute(span, "db.query.text")).join("\n")).toMatch(
    /trigger_product_sync/,
  );
  const job = named("job product_sync")!;
  expect([job.service, attribute(job, "office.correlation_id")]).toEqual([
    "back-office-worker",
    correlationId,
  ]);
  expect(inTrace.map(({ spanId }) => spanId)).toContain(job.parentSpanId);
  expect(inTrace.find(({ spanId }) => spanId === callSpan)?.parentSpanId).toBe(job.spanId);
  // Traces contain no values, such as the product's number or the token.
  expect(JSON.stringify(spans)).not.toMatch(/000123|bos_/);
});

test("calls of search engine, object store and mail server are spans of their job", async () => {
  const { pool } = service.database;
  const { token, roleId } = await service.login(["invitations.create", "roles.read"]);
  for (const task of ["check_search", "clean_exports"])
    await pool.query("select enqueue_job($1, '{}', 'spans')", [task]);
  const { errors } = await service.ask(
    "mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }",
    { token, variables: { input: { email: "mia@wine.example", roleId } } },
  );
  expect(errors).toBeUndefined();
  const called = (name: RegExp, job: string) =>
    spans.some(
      (call) =>
        name.test(call.name) &&
        spans.some((parent) => parent.spanId === call.parentSpanId && parent.name === `job ${job}`),
    );
  await waitFor("the spans of all three", () =>
    [
      called(/^search \w+$/, "index_search"),
      called(/^S3 ListObjectsV2$/, "clean_exports"),
      called(/^mail send$/, "send_invitation"),
    ].every(Boolean),
  );
  expect(JSON.stringify(spans)).not.toContain("mia@");
});
