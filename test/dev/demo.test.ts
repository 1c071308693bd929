import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { demoProducts } from "../../dev/demo/products.ts";
import { type Outcome, runCommand } from "../helpers/commands/run.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { compileCache } from "../helpers/environment.ts";
import { freePort } from "../helpers/http.ts";
import { askAt } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let database: TestDatabase;
let dataDir: string;
let url: string;
let service: ChildProcess;
let output = "";

beforeAll(async () => {
  [database, dataDir] = await Promise.all([
    createDatabase(),
    mkdtemp(join(tmpdir(), "office-demo-")),
  ]);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  service = spawn(process.execPath, ["dev/start.ts", "--erp-orders=200"], {
    cwd: join(import.meta.dirname, "../.."),
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...compileCache,
      PORT: String(port),
      METRICS_PORT: "off",
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
    },
  });
  for (const stream of [service.stdout, service.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await waitFor("the service", () => output.includes("Ctrl-C stops everything"), 180_000);
});
afterAll(async () => {
  if (service.exitCode === null) {
    const ended = once(service, "exit");
    service.kill("SIGTERM");
    await ended;
  }
  await Promise.all([database.drop(), rm(dataDir, { recursive: true })]);
});

const runDemo = (...args: string[]): Promise<Outcome> =>
  runCommand("dev/demo.ts", args, { DATA_DIR: dataDir });

const logIn = async (email: string): Promise<string> => {
  const { data } = await askAt(
    url,
    "mutation ($email: String!) { devLogin(email: $email) { token } }",
    { variables: { email } },
  );
  return data.devLogin.token;
};

/** The number of rows and the newest change of each table that only the demo fills; jobs add notifications later. */
async function contents() {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    ["departments", "roles", "users", "products", "product_prices", "product_images"]
      .concat(["product_ratings", "campaigns", "export_templates", "orders", "invitations"])
      .concat(["resources", "resource_bookings", "absences", "documentation_pages"])
      .concat(["customer_notes", "calendar_feeds"])
      .map(
        (table) =>
          `select '${table}' as table, count(*)::integer as rows, max(updated_at) as changed from ${table}`,
      )
      .join(" union all "),
  );
  return rows;
}

test("refuses to run without a service", async () => {
  const outcome = await runCommand("dev/demo.ts", [], { DATA_DIR: join(dataDir, "none") });
  expect(outcome.code).toBe(1);
  expect(outcome.output).toMatch(
    /^No service runs with the data folder .*none: start it with npm start\n$/,
  );
});

test("the banner of an empty service mentions the demo and the database", () => {
  expect(output).toContain("npm run demo");
  expect(output).toMatch(/ {2}Database {7}postgres:\/\/\S+ \(npm run db:psql opens it\)/);
});

test("fills an empty service", async () => {
  const outcome = await runDemo();
  expect(outcome.output).toContain(
    "5 users, 200 products, 10 campaigns, 1 template, 5 resources, 15 bookings, 6 absences, 3 pages, 3 watches, 1 feed",
  );
  expect(outcome.code).toBe(0);
  if (!outcome.output.includes("200 orders.")) process.stdout.write(outcome.output + output);
  // The duration is logged for information.
  process.stdout.write(`demo: ${/Added in ([\d.]+ s)/.exec(outcome.output)?.[1] ?? ""}\n`);
  const token = await logIn("astrid@wine.example");
  // The demo waits for them for a limited time; on a busy machine the worker finishes later.
  await waitFor("the orders", async () => {
    const { rows } = await database.pool.query("select from orders");
    return rows.length === 200;
  });
  const { data, errors } = await askAt(
    url,
    `{ products(first: 250) { nodes { prices { amount } images { url } ratings { points } } }
       campaigns { status } departments { name }
       users { email isActive department { name } roles { name } }
       erpOrderImportIssues { code } exportTemplates { name } }`,
    { token },
  );
  expect(errors).toBeUndefined();
  expect(data.products.nodes).toHaveLength(demoProducts.length);
  for (const product of data.products.nodes) {
    expect(product.prices).toHaveLength(3);
    expect(product.images).toHaveLength(1);
  }
  expect(new Set(data.campaigns.map(({ status }: { status: string }) => status))).toEqual(
    new Set(["DRAFT", "SCHEDULED", "ACTIVE", "PAUSED", "COMPLETED", "CANCELLED"]),
  );
  expect(data.departments).toHaveLength(4);
  expect(data.users).toHaveLength(5);
  for (const user of data.users)
    expect(user).toMatchObject({ isActive: true, department: {}, roles: [{}] });
  expect(data.erpOrderImportIssues.length).toBeGreaterThan(0);
  expect(data.exportTemplates.map(({ name }: { name: string }) => name)).toContain(
    "Restaurant list",
  );
});

test("adds absences in each state, watches, notes, a calendar feed and a notification", async () => {
  const { data, errors } = await askAt(
    url,
    `{ absences { nodes { status userName decisionNote } }
       customerNotes { nodes { body } }
       calendarFeeds { name revokedAt }
       searchWatches { name delivery channels }
       notifications(unreadOnly: true) { nodes { kind title } } }`,
    { token: await logIn("astrid@wine.example") },
  );
  expect(errors).toBeUndefined();
  const count = (status: string) =>
    data.absences.nodes.filter((absence: { status: string }) => absence.status === status).length;
  expect(["APPROVED", "REQUESTED", "DECLINED", "CANCELLED"].map(count)).toEqual([3, 1, 1, 1]);
  expect(data.absences.nodes).toContainEqual({
    status: "DECLINED",
    userName: "Bo Kjær",
    decisionNote: "We count the stock on that day.",
  });
  expect(data.searchWatches).toEqual([
    { name: "Failed imports", delivery: "WEEKLY", channels: ["INBOX", "EMAIL"] },
    { name: "New Barolo", delivery: "AT_ONCE", channels: ["INBOX"] },
    { name: "Sold out", delivery: "DAILY", channels: ["INBOX"] },
  ]);
  expect(data.customerNotes.nodes).toHaveLength(2);
  expect(data.calendarFeeds).toEqual([{ name: "Phone", revokedAt: null }]);
  expect(data.notifications.nodes).toContainEqual({
    kind: "ABSENCE_REQUESTED",
    title: expect.stringContaining("Emma Friis asks for an absence: vacation"),
  });
});

test("adds a user with another time zone and locale, and a deletion to undo", async () => {
  const { data, errors } = await askAt(
    url,
    `{ users(query: "email:bo@wine.example") { timeZone displayLocale } deletions { auditLogId entityType label } }`,
    { token: await logIn("astrid@wine.example") },
  );
  expect(errors).toBeUndefined();
  expect(data.users).toEqual([{ timeZone: "Europe/Lisbon", displayLocale: "da-DK" }]);
  expect(data.deletions).toEqual([
    expect.objectContaining({ entityType: "Resource", label: "Old projector" }),
  ]);
});

test("creates users who can log in", async () => {
  for (const name of ["bo", "clara", "david", "emma"])
    expect(await logIn(`${name}@wine.example`)).toMatch(/^bos_/);
});

test("adds nothing in a second run", async () => {
  const before = await contents();
  const outcome = await runDemo();
  expect(outcome.output).toContain("The demo data is complete: nothing was added.");
  expect(outcome.code).toBe(0);
  expect(await contents()).toEqual(before);
});

test("adds deleted rows again and keeps the others", async () => {
  await database.pool.query("delete from campaigns where title = 'Barolo week'");
  expect((await runDemo()).output).toMatch(/Added in [\d.]+ s: 1 campaign\./);
});

test("requires a Superadmin when the service has other users", async () => {
  await database.pool.query(
    "update users set email = 'someone@wine.example' where email = 'astrid@wine.example'",
  );
  const outcome = await runDemo();
  expect(outcome.code).toBe(1);
  expect(outcome.output).toContain("npm run demo -- --as you@example.com");
  expect((await runDemo("--as", "someone@wine.example")).output).toContain("1 user.");
});
