import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { readConfig } from "../../src/config.ts";
import { ownerKey } from "../../src/exports/ownBucket.ts";
import type { ConstantOverrides } from "../../src/settings/constants.ts";
import { startFileServer } from "../../dev/emulators/fileServer.ts";
import type { FileStore } from "../../src/gateways/files.ts";
import { makeS3Files } from "../../src/gateways/s3Files.ts";

/** An object store for one test. */
export interface TestFiles {
  url: string;
  /** The environment of server and worker; `endpoint` replaces the store's URL, for example with a proxy's. */
  env(endpoint?: string): Record<string, string>;
  /** Creates the service's client. */
  store(
    endpoint?: string,
    settings?: Record<string, string>,
    constants?: ConstantOverrides["files"],
  ): FileStore;
  /** The keys of all files and of all unfinished uploads, without the object that names the bucket's owner. */
  content(): Promise<{ files: string[]; unfinished: string[] }>;
  /** A client with the store's key. */
  client(): S3Client;
  /** Deletes one part of an unfinished upload, like a deletion during its completion. */
  tear(uploadId: string, part: number): Promise<void>;
  /** Makes a file two hours old. */
  age(key: string): Promise<void>;
  stop(): Promise<void>;
}

/** @param folder the data directory, for example on a small disk; a temporary folder by default */
export async function startTestFiles(folder?: string): Promise<TestFiles> {
  const dataDir = folder ?? (await mkdtemp(join(tmpdir(), "files-")));
  const server = await startFileServer({ port: 0, dataDir });
  const { S3_ENDPOINT: url, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = server.env;
  const env = (endpoint = url) => ({ ...server.env, S3_ENDPOINT: endpoint });
  const client = new S3Client({
    endpoint: url,
    region: "us-east-1",
    forcePathStyle: true,
    credentials: { accessKeyId: S3_ACCESS_KEY_ID, secretAccessKey: S3_SECRET_ACCESS_KEY },
  });
  const Bucket = "back-office";
  const orNone = (error: unknown) => {
    if (error instanceof S3ServiceException && error.name === "NoSuchBucket") return undefined;
    throw error;
  };
  return {
    url,
    env,
    store(endpoint, settings, constants) {
      const all = { NODE_ENV: "test", ...env(endpoint), ...settings };
      return makeS3Files(readConfig(all, [], { files: constants }).files);
    },
    async content() {
      const files = await client.send(new ListObjectsV2Command({ Bucket })).catch(orNone);
      const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket })).catch(orNone);
      return {
        files: (files?.Contents ?? [])
          .map(({ Key }) => Key ?? "")
          .filter((key) => key !== ownerKey)
          .toSorted(),
        unfinished: (uploads?.Uploads ?? []).map(({ Key }) => Key ?? "").toSorted(),
      };
    },
    client: () => client,
    tear: (uploadId, part) =>
      rm(join(dataDir, "files", Bucket, "._S3rver_uploads", uploadId, String(part))),
    async age(key) {
      const then = new Date(Date.now() - 2 * 60 * 60 * 1000);
      await utimes(join(dataDir, "files", Bucket, `${key}._S3rver_object`), then, then);
    },
    async stop() {
      client.destroy();
      await server.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
