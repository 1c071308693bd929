import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { readConfig } from "../../src/config.ts";
import {
  BucketOwnerError,
  identifyDatabase,
  ownBucket,
  ownerKey,
  readOwner,
  writeOwner,
} from "../../src/exports/ownBucket.ts";
import type { FileStore } from "../../src/gateways/files.ts";
import { makeS3Files } from "../../src/gateways/s3Files.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type TestFiles, startTestFiles } from "../helpers/fileServer.ts";
import {
  type WorkerProcess,
  endWorkers,
  startWorkerProcess,
} from "../helpers/workers/workerProcess.ts";
import { startProxy } from "../helpers/proxy.ts";

// A bucket belongs to one database: its copies must not delete files there.

let live: TestDatabase;
let copy: TestDatabase;
let files: TestFiles;
let store: FileStore;
let worker: WorkerProcess;

beforeAll(async () => {
  [live, copy, files] = await Promise.all([createDatabase(), createDatabase(), startTestFiles()]);
  store = makeS3Files(readConfig(files.env()).files);
  worker = await startWorkerProcess(live.url, files.env(), {
    constants: { files: { ownerCheckMs: 200 } },
  });
});
afterAll(async () => {
  await endWorkers();
  store.close();
  await files.stop();
  await Promise.all([live.drop(), copy.drop()]);
});

const envOf = (database: TestDatabase) => ({ ...files.env(), DATABASE_URL: database.url });
const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1);

test("the first worker takes the bucket, and a worker of another database does not start there", async () => {
  expect(await readOwner(store)).toMatchObject({ name: nameOf(live) });
  const { code, output } = await runCommand("src/worker.ts", [], envOf(copy));
  expect(code).toBe(1);
  expect(output).toContain(
    `The bucket back-office belongs to another database: "${nameOf(live)}" (`,
  );
  expect(output).toContain(
    "If this database takes the place of the other one, run `npm run files:claim`.",
  );
  const doctor = await runCommand("src/commands/doctor.ts", [], envOf(copy));
  expect(doctor.output).toMatch(/^WRONG +The bucket back-office belongs to another database: /m);
  const own = await runCommand("src/commands/doctor.ts", [], envOf(live));
  expect(own.output).toMatch(/^ok +bucket back-office: belongs to this database$/m);
});

test("a worker that lost the bucket to another database deletes no file there, and ends", async () => {
  const key = "backoffice/exports/orphan.xlsx";
  await store.write(key, Readable.from(["old"]), AbortSignal.timeout(10_000));
  const claim = () => runCommand("src/commands/claimFiles.ts", [], envOf(copy));
  expect((await claim()).output).toMatch(
    new RegExp(`belongs to "${nameOf(copy)}" .* now; before, to "${nameOf(live)}" `),
  );
  expect((await claim()).output).toMatch(/belongs to .* already\n$/);
  expect(await worker.exited).toBe(1);
  expect(worker.output()).toContain("The bucket back-office belongs to another database");
  const own = ownBucket(store, readConfig(files.env()).files, () => identifyDatabase(live.pool));
  await expect(own.remove(key)).rejects.toThrow(BucketOwnerError);
  await expect(own.removeAll("backoffice/")).rejects.toThrow(BucketOwnerError);
  expect(await store.read(key)).toEqual(Buffer.from("old"));
  expect(await readOwner(store)).toMatchObject({ name: nameOf(copy) });
});

test("a worker without this service's schema takes no bucket", async () => {
  const empty = await createDatabase();
  try {
    await empty.pool.query("drop schema backoffice, graphile_worker, office_jobs cascade");
    await store.remove(ownerKey);
    const { code, output } = await runCommand("src/worker.ts", [], envOf(empty));
    expect(output).toContain('The database has no schema "backoffice" of this release');
    expect(code).toBe(1);
    expect(await readOwner(store)).toBeNull();
  } finally {
    await empty.drop();
  }
});

test("a worker of a copy ends once a store that was down answers", async () => {
  await writeOwner(store, await identifyDatabase(live.pool));
  const proxy = await startProxy(files.env().S3_ENDPOINT ?? "");
  try {
    await proxy.cut();
    const late = await startWorkerProcess(copy.url, files.env(proxy.url), {
      constants: { files: { ownerCheckMs: 200 } },
    });
    expect(late.output()).toContain("owner of the bucket not checked");
    await proxy.restore();
    expect(await late.exited).toBe(1);
  } finally {
    await proxy.stop();
  }
});

test("a damaged owner of the bucket keeps all workers from deleting", async () => {
  await store.write(ownerKey, Readable.from(["{"]), AbortSignal.timeout(10_000));
  const doctor = await runCommand("src/commands/doctor.ts", [], envOf(copy));
  expect(doctor.output).toMatch(/^WRONG +.*database\.json/m);
});

test("npm run files:claim says when the store does not answer", async () => {
  const { code, output } = await runCommand("src/commands/claimFiles.ts", [], {
    ...envOf(live),
    S3_ENDPOINT: "http://127.0.0.1:9",
  });
  expect(output).toMatch(/^The file store cannot be reached: .*\n$/);
  expect(code).toBe(2);
});
