import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chown, mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { findProcesses, killHard, spawnStarter } from "../helpers/dev/childScripts.ts";
import { isGone, query, useDatabases } from "../helpers/dev/databases.ts";
import { waitFor } from "../helpers/waitFor.ts";

const { at, later, lines, start, startChild } = useDatabases();

test("the server shuts down when its starter is killed, and the next start has the data", async () => {
  const dataDir = at("db");
  const { child, started } = await startChild({ dataDir });
  await query(started.url, "create table wine as select 'Barolo' as name");
  await killHard(child);

  await waitFor("the end of the server", () => isGone(started.pid));
  const log = await readFile(path.join(dataDir, "postgres.log"), "utf8");
  expect(log).toContain("received fast shutdown request");
  const { url } = await start();
  expect(await query(url, "select name from wine")).toEqual([{ name: "Barolo" }]);
});

test("a start directly after the starter was killed does not wait for the old server's guard", async () => {
  const { child, started } = await startChild({ dataDir: at("db") });
  await query(started.url, "create table wine as select 'Chablis' as name");
  await killHard(child);

  const { url, pid } = await start();
  expect(pid).not.toBe(started.pid);
  expect(isGone(started.pid)).toBe(true);
  expect(await query(url, "select name from wine")).toEqual([{ name: "Chablis" }]);
});

test("the next start ends a server whose starter and guard were killed", async () => {
  const { child, started } = await startChild({ dataDir: at("db") });
  const [guard = 0] = await findProcesses(`guard.ts ${started.pid}`);
  process.kill(guard, "SIGKILL");
  await waitFor("the end of the guard", () => isGone(guard));
  await killHard(child);
  expect(isGone(started.pid)).toBe(false);

  const { url } = await start();
  expect(isGone(started.pid)).toBe(true);
  expect(lines().join("\n")).toContain(`left behind (process ${started.pid})`);
  expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a killed server recovers committed data", async () => {
  const first = await start();
  await query(first.url, "create table wine as select 'Tokaji' as name");
  process.kill(first.pid, "SIGKILL");
  await first.ended;
  await first.stop();

  const second = await start();
  expect(await query(second.url, "select name from wine")).toEqual([{ name: "Tokaji" }]);
});

test("a stale postmaster.pid with the id of another process is ignored", async () => {
  const first = await start();
  const pidFile = at("db", "cluster", "postmaster.pid");
  const content = await readFile(pidFile, "utf8");
  await first.stop();
  // Runs as the server's user, because PostgreSQL would mistake such a process for a server.
  const owner = await stat(at("db", "cluster"));
  const runAs = process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {};
  const other = spawn("sleep", ["600"], { stdio: "ignore", cwd: "/", ...runAs });
  later(() => killHard(other));
  await writeFile(pidFile, content.replace(/^\d+/, String(other.pid)));
  await chown(pidFile, owner.uid, owner.gid);

  const second = await start();
  expect(await query(second.url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(other.exitCode ?? other.signalCode).toBeNull();
});

test("an interrupted creation of the database is repeated", async () => {
  const dataDir = at("db");
  const interrupted = path.join(dataDir, "unfinished-abc", "cluster");
  await mkdir(interrupted, { recursive: true });
  await writeFile(path.join(interrupted, "PG_VERSION"), "18\n");
  await writeFile(path.join(dataDir, "password"), "of the interrupted one\n");

  const { url } = await start();
  expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(existsSync(path.join(dataDir, "unfinished-abc"))).toBe(false);
});

test("a starter killed during the creation of the database does not block the next one", async () => {
  const dataDir = at("db");
  const child = spawnStarter({ dataDir });
  later(() => killHard(child));
  await waitFor("a half-made database", async () => {
    const made = await readdir(dataDir).catch(() => []);
    return made.some((name) => existsSync(path.join(dataDir, name, "cluster", "base")));
  });
  await killHard(child);
  expect(existsSync(path.join(dataDir, "cluster"))).toBe(false);

  const { url } = await start();
  expect(await query(url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("an ephemeral database is deleted when its starter is killed", async () => {
  const dataDir = at("db");
  const { child, started } = await startChild({ dataDir, ephemeral: true });
  await killHard(child);
  await waitFor("the end of the server", () => isGone(started.pid));
  await waitFor("the end of its folder", () => !existsSync(dataDir));
});
