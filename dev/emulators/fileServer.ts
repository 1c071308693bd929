import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import S3rver from "@20minutes/s3rver";
import { DUMMY_ACCOUNT } from "@20minutes/s3rver/lib/models/account.js";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import { isNoSpace } from "../../src/health/diskFull.ts";
import type { KeyPair } from "./fileServerRequests.ts";
import { requireSignature, unfinishedUploads } from "./fileServerRequests.ts";
import { makeWritesAtomic } from "./fileServerWrites.ts";

/** An object store for development and tests. */
export interface FileServer {
  port: number;
  /** The settings that point the service at it. */
  env: Record<"S3_ENDPOINT" | "S3_ACCESS_KEY_ID" | "S3_SECRET_ACCESS_KEY", string>;
  stop(): Promise<void>;
}

/**
 * Starts an S3-compatible server on 127.0.0.1 that keeps its files in `dataDir`. Its first start creates the access
 * key. It extends s3rver: it refuses unsigned requests, lists and aborts multipart uploads, and writes files
 * atomically.
 * Unlike a real store it does not verify content hashes, has one key for all buckets, and never calls fsync, so
 * that a power cut may lose recent writes.
 */
export async function startFileServer(options: {
  port: number;
  dataDir: string;
}): Promise<FileServer> {
  const directory = path.join(options.dataDir, "files");
  await mkdir(directory, { recursive: true });
  const key = await readOrCreateKey(path.join(options.dataDir, "key.json"));
  // The default key of the library is public. `requireSignature` verifies signatures before the library sees them.
  DUMMY_ACCOUNT.revokeAccessKey("S3RVER");
  DUMMY_ACCOUNT.createKeyPair(key.id, key.secret);
  const server = new S3rver({
    address: "127.0.0.1",
    port: options.port,
    directory,
    silent: true,
    vhostBuckets: false,
    allowMismatchedSignatures: true,
  });
  const router = server.middleware.length - 1;
  const added = [requireSignature(key), reportFullDisk, unfinishedUploads(directory)];
  server.middleware.splice(router, 0, ...added);
  makeWritesAtomic(server.store, directory);
  const { port } = await server.run();
  return {
    port,
    env: {
      S3_ENDPOINT: `http://127.0.0.1:${port}`,
      S3_ACCESS_KEY_ID: key.id,
      S3_SECRET_ACCESS_KEY: key.secret,
    },
    async stop() {
      const closed = once(server.httpServer, "close");
      server.httpServer.close();
      server.httpServer.closeAllConnections();
      await closed;
    },
  };
}

/** Responds 507 when the disk is full, as MinIO does. The library would respond 500 without a reason. */
const reportFullDisk: S3rver["middleware"][number] = async (_context, next) => {
  try {
    await next();
  } catch (error) {
    if (!isNoSpace(error)) throw error;
    throw Object.assign(new S3Error("InsufficientStorage", "The disk is full"), { status: 507 });
  }
};

async function readOrCreateKey(file: string): Promise<KeyPair> {
  const kept = await readFile(file, "utf8").catch(() => null);
  if (kept !== null) return JSON.parse(kept) as KeyPair;
  const key = { id: randomBytes(8).toString("hex"), secret: randomBytes(24).toString("base64url") };
  await writeFile(file, JSON.stringify(key), { mode: 0o600 });
  return key;
}
