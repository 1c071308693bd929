import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { removeOrphanedFiles } from "../../src/exports/removeOrphanedFiles.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type TestFiles, startTestFiles } from "../helpers/fileServer.ts";

let database: TestDatabase;
let files: TestFiles;

beforeAll(async () => {
  [database, files] = await Promise.all([createDatabase(), startTestFiles()]);
});
afterAll(async () => {
  await files.stop();
  await database.drop();
});

test("a file that the store cannot delete keeps none of the orphaned files after it", async () => {
  const store = files.store();
  const { signal } = new AbortController();
  // More than the database is asked about at a time.
  const keys = Array.from(
    { length: 520 },
    (_, place) => `backoffice/exports/${String(place).padStart(4, "0")}.csv`,
  );
  const [locked = "", recorded = ""] = keys;
  for (const key of keys) await store.write(key, Readable.from([Buffer.from("x")]), signal);
  await database.pool.query("insert into stored_files (key) values ($1)", [recorded]);
  const aged: typeof store = {
    ...store,
    async *list(prefix) {
      for await (const file of store.list(prefix))
        yield { ...file, modifiedAt: new Date(file.modifiedAt.getTime() - 2 * 60 * 60 * 1000) };
    },
    // As a store does with a file under a retention lock.
    remove: (key) => (key === locked ? Promise.reject(new Error("locked")) : store.remove(key)),
  };
  const removing = removeOrphanedFiles({
    files: aged,
    prefix: "backoffice/exports/",
    signal,
    async inTenant(work) {
      const client = await database.pool.connect();
      try {
        return await work(client);
      } finally {
        client.release();
      }
    },
  });
  await expect(removing).rejects.toThrow("1 of 519 files could not be removed");
  expect((await files.content()).files).toEqual([locked, recorded]);
  store.close();
});
