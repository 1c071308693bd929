import { getPriority, setPriority } from "node:os";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { type DevService, startDevService } from "../helpers/dev/devService.ts";
import { askAt } from "../helpers/service.ts";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";

let database: TestDatabase;
let own: ExtraSqlDir;
let service: DevService;

beforeAll(async () => {
  [database, own] = await Promise.all([createDatabase(), createExtraSqlDir()]);
  service = await startDevService(database, own.path);
});
afterAll(async () => {
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

/** The current fields of Product on the server; none while it restarts. */
async function fields(): Promise<string[]> {
  const answer = await askAt(service.url, `{ __type(name: "Product") { fields { name } } }`).catch(
    () => null,
  );
  return ((answer?.data?.__type.fields ?? []) as { name: string }[]).map(({ name }) => name);
}

test("the database lowers the priority of the worker's connections, and of no others", async () => {
  const readConnections = async () =>
    (
      await database.pool.query<{ pid: number; name: string }>(
        "select pid, application_name as name from pg_stat_activity where datname = current_database()",
      )
    ).rows;
  let rows = await readConnections();
  const prioritiesOf = (of: string) =>
    rows.flatMap(({ pid, name }) => {
      try {
        return name === of ? getPriority(pid) : [];
      } catch {
        // The process has ended meanwhile.
        return [];
      }
    });
  const [usual = 0, ...others] = new Set(prioritiesOf("office_server"));
  expect(others).toEqual([]);
  // Heartbeats, health checks and metrics keep their priority.
  await waitFor("a connection of the worker that keeps its priority", async () => {
    rows = await readConnections();
    return prioritiesOf("office_worker").includes(usual);
  });
  const mayChange = ({ pid }: { pid: number }) => {
    try {
      setPriority(pid, getPriority(pid));
      return true;
    } catch {
      return false;
    }
  };
  if (!rows.every(mayChange)) return;
  await waitFor("a connection of the worker with a lower priority", async () => {
    rows = await readConnections();
    return prioritiesOf("office_worker").includes(Math.max(10, usual));
  });
});

test("with --watch applies and serves a saved migration, and keeps the server when it is rejected", async () => {
  expect(await fields()).not.toContain("isOrganic");
  await own.migration(
    "is_organic",
    "alter table products add column is_organic boolean not null default false; comment on column products.is_organic is 'Whether it is organic.';",
  );
  await waitFor("the new column", async () => (await fields()).includes("isOrganic"));

  await own.migration("undecided", "alter table products add column undecided text;");
  await waitFor("the refusal", () =>
    service.output().includes("column products.undecided: has no description"),
  );
  await waitFor("the end of the command", () => service.output().includes("the migrations failed"));
  expect(await fields()).toContain("isOrganic");
  expect(await fields()).not.toContain("undecided");

  // The corrected migration is applied like any other.
  await own.removeLast();
  await own.migration(
    "decided",
    "alter table products add column decided text; comment on column products.decided is 'Done.';",
  );
  await waitFor("the second column", async () => (await fields()).includes("decided"));
});
