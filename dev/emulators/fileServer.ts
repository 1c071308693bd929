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
import { writeSafely } from "./fileServerWrites.ts";

/** An object store for development and tests. */
export interface FileServer {
  port: number;
  /** The settings with which the service reaches it. */
  env: Record<"S3_ENDPOINT" | "S3_ACCESS_KEY_ID" | "S3_SECRET_ACCESS_KEY", string>;
  stop(): Promise<void>;
}

/**
 * Starts an S3-compatible server on this machine's own address that keeps its files in `dataDir`, under a key made at its first
 * start. It is s3rver with what that lacks: unsigned requests are refused, unfinished uploads can be listed and ended, and a file
 * appears whole or not at all. What stays weaker than a real store: it does not check the hashes of what it receives, knows one
 * key for everything, and flushes nothing to disk, so that a power cut may lose what was just written.
 */
export async function startFileServer(options: {
  port: number;
  dataDir: string;
}): Promise<FileServer> {
  const directory = path.join(options.dataDir, "files");
  await mkdir(directory, { recursive: true });
  const key = await keepKey(path.join(options.dataDir, "key.json"));
  // The library's own account has a key that everybody knows; signatures are checked before it looks at them.
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
  const added = [requireSignature(key), answerFullDisk, unfinishedUploads(directory)];
  server.middleware.splice(router, 0, ...added);
  writeSafely(server.store, directory);
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

/** The library answers 500 with no reason; MinIO and others answer 507 when their disk is full. */
const answerFullDisk: S3rver["middleware"][number] = async (_context, next) => {
  try {
    await next();
  } catch (error) {
    if (!isNoSpace(error)) throw error;
    throw Object.assign(new S3Error("InsufficientStorage", "No room is left"), { status: 507 });
  }
};

async function keepKey(file: string): Promise<KeyPair> {
  const kept = await readFile(file, "utf8").catch(() => null);
  if (kept !== null) return JSON.parse(kept) as KeyPair;
  const key = { id: randomBytes(8).toString("hex"), secret: randomBytes(24).toString("base64url") };
  await writeFile(file, JSON.stringify(key), { mode: 0o600 });
  return key;
}
