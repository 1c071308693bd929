import { once } from "node:events";
import { existsSync } from "node:fs";
import { chown, readFile, stat, writeFile } from "node:fs/promises";
import net from "node:net";
import { expect, test } from "@jest/globals";
import { isGone, query, useDatabases } from "../helpers/dev/databases.ts";

const { at, lines, start, startChild } = useDatabases();

test("a database keeps its data after a restart", async () => {
  const first = await start({ databaseName: "office" });
  await query(first.url, "create table wine as select 'Rioja' as name");
  await first.stop();
  expect(isGone(first.pid)).toBe(true);

  const second = await start({ databaseName: "office" });
  expect(await query(second.url, "select name from wine")).toEqual([{ name: "Rioja" }]);
  expect(second.folder).toBe(at("db"));
});

test("text sorts and is stored the same on every machine, and times are in UTC", async () => {
  const { url } = await start();
  const rows = await query(
    url,
    `select datlocprovider, datlocale, pg_encoding_to_char(encoding) as encoding,
       current_setting('timezone') as timezone, current_setting('data_checksums') as checksums,
       upper('é') as upper
     from pg_database where datname = current_database()`,
  );
  expect(rows).toEqual([
    {
      datlocprovider: "b",
      datlocale: "C.UTF-8",
      encoding: "UTF8",
      timezone: "UTC",
      checksums: "on",
      upper: "É",
    },
  ]);
});

test("the server listens on the loopback address only and rejects a wrong password", async () => {
  const { url, port } = await start();
  expect(await query(url, "show listen_addresses")).toEqual([{ listen_addresses: "127.0.0.1" }]);
  expect(await query(url, "show unix_socket_directories")).toEqual([
    { unix_socket_directories: "" },
  ]);
  const wrong = `postgres://postgres:wrong@127.0.0.1:${port}/postgres`;
  await expect(query(wrong, "select 1")).rejects.toThrow("password authentication failed");
});

test("the password is in a file that only its owner can read, and in no log", async () => {
  const { url } = await start();
  const file = at("db", "password");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const password = new URL(url).password;
  expect((await readFile(file, "utf8")).trim()).toBe(password);
  const serverLog = await readFile(at("db", "postgres.log"), "utf8");
  expect(serverLog).toContain("ready to accept connections");
  expect(`${lines().join("\n")}${serverLog}`).not.toContain(password);
});

test("a fixed port is used, and a port in use is reported", async () => {
  const other = net.createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as net.AddressInfo;
  await expect(start({ port })).rejects.toThrow(
    `Port ${port} for the embedded PostgreSQL is taken`,
  );

  other.close();
  await once(other, "close");
  const database = await start({ port });
  expect(new URL(database.url).port).toBe(String(port));
});

test("a second start on the same folder is rejected with the folder and the first process", async () => {
  const { child, started } = await startChild({ dataDir: at("db") });
  await expect(start()).rejects.toThrow(
    `The database in ${started.folder} is already in use by another start of this program ` +
      `(process ${child.pid})`,
  );
  expect(await query(started.url, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("one process cannot use a folder twice at the same time", async () => {
  const first = await start();
  await expect(start()).rejects.toThrow("already in use");
  await first.stop();
  await expect(start()).resolves.toBeDefined();
});

test("data of another major version is rejected", async () => {
  await (await start()).stop();
  await writeFile(at("db", "cluster", "PG_VERSION"), "17\n");
  await expect(start()).rejects.toThrow("was made by PostgreSQL 17, the embedded server is");
});

test("an unknown PostgreSQL setting ends the start with PostgreSQL's error", async () => {
  const postgresFlags = ["-c", "no_such_setting=1"];
  await expect(start({ postgresFlags })).rejects.toThrow("no_such_setting");
});

test("an ephemeral database is deleted when it is stopped", async () => {
  const database = await start({ ephemeral: true });
  expect(await query(database.url, "show fsync")).toEqual([{ fsync: "off" }]);
  await Promise.all([database.stop(), database.stop()]);
  expect(isGone(database.pid)).toBe(true);
  expect(existsSync(at("db"))).toBe(false);
});

test("an unprivileged user runs the database as itself", async () => {
  // As root, another user runs it; otherwise the tests' user is already unprivileged.
  const runAs = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;
  if (runAs !== undefined) await chown(at(), runAs.uid, runAs.gid);
  const { child, started } = await startChild({ dataDir: at("db") }, runAs);
  expect(started.error).toBeUndefined();
  expect((await stat(at("db", "cluster"))).uid).toBe(runAs?.uid ?? process.getuid?.());
  expect(await query(started.url, "select 1 as one")).toEqual([{ one: 1 }]);
  child.send("stop");
  await once(child, "exit");
  expect(isGone(started.pid)).toBe(true);
});

test("the server never runs as root", async () => {
  const { pid } = await start();
  expect((await stat(at("db", "cluster"))).uid).not.toBe(0);
  expect(isGone(pid)).toBe(false);
});
