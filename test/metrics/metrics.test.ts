import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startServerProcess, type Service } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";
import {
  endWorkers,
  startWorkerProcess,
  type WorkerProcess,
} from "../helpers/workers/workerProcess.ts";
import { parse } from "yaml";
import { needsOf } from "../helpers/metrics/expressions.ts";
import { namingFaults } from "../helpers/metrics/naming.ts";
import { type Sample, operationsUrl, scrape, valueOf } from "../helpers/metrics/exposition.ts";

let service: Service;
let worker: WorkerProcess;
let server: string;
let workers: string;
// An ERP and a store that always fail.
const broken = createServer((_request, response) => response.writeHead(500).end());

beforeAll(async () => {
  broken.listen(0, "127.0.0.1");
  await once(broken, "listening");
  const away = `http://127.0.0.1:${(broken.address() as AddressInfo).port}`;
  service = await startServerProcess({
    env: {
      METRICS_PORT: "0",
      DATABASE_POOL_SIZE: "12",
      // Configured but unreachable; its metrics exist anyway.
      DATABASE_REPLICA_URL: "postgres://office_server@127.0.0.1:9/none",
      S3_ENDPOINT: "http://127.0.0.1:9",
      S3_ACCESS_KEY_ID: "k",
      S3_SECRET_ACCESS_KEY: "s",
    },
  });
  const settings = {
    METRICS_PORT: "0",
    ERP_BASE_URL: away,
    ERP_TENANT_ID: "tenant",
    ERP_ENVIRONMENT: "test",
    ERP_COMPANY_ID: "00000000-0000-4000-8000-000000000000",
    ERP_CLIENT_ID: "client",
    ERP_CLIENT_SECRET: "secret",
    ERP_TOKEN_URL: `${away}/token`,
  };
  worker = await startWorkerProcess(service.database.url, settings, {
    constants: { erp: { retries: 0, breakerFailures: 1, longestWaitMs: 1_000 } },
  });
  server = operationsUrl(service.output());
  workers = operationsUrl(worker.output());
});
afterAll(async () => {
  await endWorkers();
  await service.stop();
  broken.close();
});

describe("a server's /metrics", () => {
  test("counts operations by first root field and outcome, never by a client's names", async () => {
    const { token } = await service.login(["users.read"]);
    for (const name of ["Innocent", "Evil_42"]) {
      await service.ask(`query ${name} { me { email } }`, { token });
      await service.ask(`query ${name} { ${name}: users { email } }`);
    }
    await service.ask("query Wrong { nothing }");
    const samples = await scrape(server);
    const count = (operation: string, outcome: string) =>
      valueOf(samples, "office_graphql_operations_total", { operation, outcome });
    expect(count("me", "ok")).toBe(2);
    expect(count("users", "UNAUTHENTICATED")).toBe(2);
    expect(count("refused", "BAD_USER_INPUT")).toBe(1);
    expect(JSON.stringify(samples)).not.toMatch(/Innocent|Evil_42|Wrong|nothing/);
    expect(valueOf(samples, "office_graphql_operation_seconds_count", { operation: "me" })).toBe(2);
  });

  test("counts cache hits", async () => {
    const before = await scrape(server);
    const document = "{ unknownToAll: __typename }";
    await service.ask(document);
    await service.ask(document);
    const after = await scrape(server);
    const grown = (result: string) =>
      (valueOf(after, "office_cache_lookups_total", { cache: "documents", result }) ?? 0) -
      (valueOf(before, "office_cache_lookups_total", { cache: "documents", result }) ?? 0);
    expect([grown("miss"), grown("hit")]).toEqual([1, 1]);
    expect(
      valueOf(after, "office_cache_lookups_total", { cache: "plans", result: "miss" }),
    ).toBeGreaterThan(0);
  });

  test("shows routes, event-loop delay and pools", async () => {
    await fetch(`${service.url}/exports/00000000-0000-4000-8000-000000000000/download`);
    await fetch(`${service.url}/no/such/place`);
    const samples = await scrape(server);
    const routes = new Set(samples.flatMap(({ labels }) => labels.route ?? []));
    expect([...routes].toSorted()).toEqual(["/exports/:id/download", "/graphql", "other"]);
    expect(valueOf(samples, "nodejs_eventloop_lag_p99_seconds")).toBeGreaterThan(0);
    expect(valueOf(samples, "office_pool_connections", { pool: "requests", state: "most" })).toBe(
      12,
    );
    expect(
      valueOf(samples, "office_pool_wait_seconds_count", { pool: "requests" }),
    ).toBeGreaterThan(3);
  });

  test("is not served on the users' port", async () => {
    for (const path of ["/metrics", "/health"])
      expect((await fetch(service.url + path)).status).toBe(404);
    expect((await fetch(`${server}/graphql`, { method: "POST" })).status).toBe(405);
  });
});

describe("a worker's /metrics", () => {
  const jobs = (samples: Sample[], task: string, outcome: string) =>
    valueOf(samples, "office_jobs_total", { task, outcome });

  test("counts attempts by task and outcome, with those that fail", async () => {
    await service.database.pool.query("select enqueue_job('settle_jobs', '{}', 'metrics')");
    await service.database.pool.query(
      "select enqueue_job('expire_invitations', '{\"odd\": 1}', 'metrics')",
    );
    const samples = await waitFor("both jobs to be counted", async () => {
      const found = await scrape(workers);
      return (
        jobs(found, "settle_jobs", "done") !== undefined &&
        jobs(found, "expire_invitations", "failed") !== undefined &&
        found
      );
    });
    expect(valueOf(samples, "office_job_seconds_count", { task: "settle_jobs" })).toBeGreaterThan(
      0,
    );
  });

  test("shows the queue by task, the age of the oldest job that is due, and lags", async () => {
    const { pool } = service.database;
    await pool.query("select enqueue_job('product_sync', '{}', 'a', now() + interval '1 hour')");
    await pool.query("select enqueue_job('product_sync', '{}', 'dead', now() + interval '1 hour')");
    await pool.query(
      "update graphile_worker._private_jobs set attempts = max_attempts where key like '%dead'",
    );
    await pool.query(
      `insert into graphile_worker._private_tasks (identifier) values ('of_a_newer_release')`,
    );
    await pool.query(
      `insert into graphile_worker._private_jobs (task_id, payload, run_at)
       select id, '{}', now() - interval '100 seconds' from graphile_worker._private_tasks where identifier = 'of_a_newer_release'`,
    );
    await pool.query(
      "update erp_cursors set caught_up_at = now() - interval '50 seconds' where entity = 'orders'",
    );
    const samples = await scrape(workers);
    const queued = (task: string, state: string) =>
      valueOf(samples, "office_queue_jobs", { task, state });
    expect([queued("product_sync", "later"), queued("product_sync", "dead")]).toEqual([1, 1]);
    expect([queued("run_export", "waiting"), queued("other", "waiting")]).toEqual([0, 1]);
    expect(valueOf(samples, "office_queue_oldest_seconds", { task: "other" })).toBeGreaterThan(99);
    expect(valueOf(samples, "office_lag_seconds", { what: "erp_orders" })).toBeGreaterThan(49);
    expect(valueOf(samples, "office_queue_readable")).toBe(1);
  });
});

describe("the health page", () => {
  const look = async (url: string) => {
    const response = await fetch(`${url}/health`);
    return {
      httpStatus: response.status,
      ...((await response.json()) as {
        status: string;
        systems: { name: string; state: string; circuit?: string; detail?: string }[];
      }),
    };
  };

  test("names the external system that is down, without credentials", async () => {
    const health = await look(server);
    expect([
      health.httpStatus,
      health.status,
      health.systems.map(({ name, state }) => `${name} ${state}`),
    ]).toEqual([200, "degraded", ["replica down", "database up", "files down"]]);
    expect(health.systems[2]).toMatchObject({
      detail: "The file store cannot be reached",
      circuit: expect.stringMatching(/closed|open/),
    });
    expect(
      valueOf(await scrape(server), "office_breaker_state", { system: "files" }),
    ).toBeGreaterThanOrEqual(0);
    const page = await (
      await fetch(`${server}/health`, { headers: { accept: "text/html" } })
    ).text();
    expect(page).toContain("<h1>The server is degraded</h1>");
  });

  test("of a worker shows the ERP's circuit breaker, as the metrics do", async () => {
    await service.database.pool.query("select queue_erp_run('IMPORT')");
    await waitFor(
      "the breaker to open",
      async () => valueOf(await scrape(workers), "office_breaker_state", { system: "erp" }) === 2,
    );
    const { systems } = await look(workers);
    expect(systems.find(({ name }) => name === "erp")).toMatchObject({
      state: "down",
      circuit: "open",
    });
  });
});

describe("names and types of the metrics", () => {
  test.each([
    ["server", () => server],
    ["worker", () => workers],
  ])("of a %s pass the rules of `promtool check metrics`", async (_process, url) => {
    expect(namingFaults(await (await fetch(`${url()}/metrics`)).text())).toEqual([]);
  });

  test("that violate a rule are reported", () => {
    const text = [
      "# HELP a_total A.\n# TYPE a_total gauge\na_total 1",
      "# HELP b B.\n# TYPE b counter\nb 1",
      "# TYPE c gauge\nc 1",
      "# HELP d_count D.\n# TYPE d_count gauge\nd_count 1",
      "# HELP e_milliseconds E.\n# TYPE e_milliseconds gauge\ne_milliseconds 1",
      "# HELP e_ms E.\n# TYPE e_ms gauge\ne_ms 1",
      "# HELP f_gauge F.\n# TYPE f_gauge gauge\nf_gauge 1",
      "# HELP gH G.\n# TYPE gH gauge\ngH 1",
    ].join("\n");
    expect(namingFaults(text)).toEqual([
      "a_total: a gauge named _total",
      "b: a counter not named _total",
      "c: no help",
      "d_count: a gauge named _count",
      "e_milliseconds: not in base units",
      "e_ms: an abbreviated unit",
      "f_gauge: the type in the name",
      "gH: camelCase",
    ]);
  });
});

describe("the sample dashboard and alerts", () => {
  const read = (name: string) =>
    readFile(join(import.meta.dirname, "../../docs/operations", name), "utf8");
  // Labels that Prometheus adds when it scrapes.
  const given = new Set(["instance", "job"]);
  // Outcomes that a run without faults does not produce; `requestMetrics.ts` derives them from error codes.
  const faults = "INTERNAL|UNAVAILABLE";
  let shown: Sample[];
  beforeAll(async () => {
    shown = [...(await scrape(server)), ...(await scrape(workers))];
  });

  async function expressions(): Promise<[string, string][]> {
    const { panels } = JSON.parse(await read("dashboard.json")) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    const { groups } = parse(await read("alerts.yml")) as {
      groups: { rules: { alert: string; expr: string }[] }[];
    };
    return [
      ...panels.flatMap(({ title, targets }) =>
        targets.map(({ expr }): [string, string] => [title, expr]),
      ),
      ...groups.flatMap(({ rules }) =>
        rules.map(({ alert, expr }): [string, string] => [alert, expr]),
      ),
    ];
  }

  test("use only metrics, labels and values that a process exports", async () => {
    const asked = await expressions();
    expect(asked.length).toBeGreaterThan(25);
    const missing = asked.flatMap(([title, expression]) => {
      const { metrics, groupings } = needsOf(expression);
      expect(metrics).not.toEqual([]);
      const found = metrics.map(({ name }) => shown.filter((sample) => sample.name === name));
      const labels = new Set(found.flat().flatMap((sample) => Object.keys(sample.labels)));
      return [
        ...metrics
          .filter((_metric, n) => found[n]!.length === 0)
          .map(({ name }) => `${title}: no ${name}`),
        ...metrics.flatMap(({ name, labels: matched }, n) =>
          matched
            .filter(({ name: label, value, isPattern }) => {
              if (label === "outcome" && value === faults) return false;
              const fits = (text = "") =>
                isPattern ? new RegExp(`^(${value})$`).test(text) : text === value;
              return !found[n]!.some(
                (sample) => label in sample.labels && fits(sample.labels[label]),
              );
            })
            .map(({ name: label, value }) => `${title}: no ${name}{${label}="${value}"}`),
        ),
        ...groupings
          .filter((label) => !labels.has(label) && !given.has(label))
          .map((label) => `${title}: no label ${label}`),
      ];
    });
    expect(missing).toEqual([]);
  });

  test("the check reports unknown names, labels, values and invalid PromQL", () => {
    expect(needsOf('sum by (a, b) (rate(x{c="d", e=~"f"}[5m])) > 1')).toEqual({
      metrics: [
        {
          name: "x",
          labels: [
            { name: "c", value: "d", isPattern: false },
            { name: "e", value: "f", isPattern: true },
          ],
        },
      ],
      groupings: ["a", "b"],
    });
    expect(() => needsOf("sum(x")).toThrow("cannot be read");
  });
});
