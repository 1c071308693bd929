import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import type S3rver from "@20minutes/s3rver";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import S3Object from "@20minutes/s3rver/lib/models/object.js";

type Store = S3rver["store"];

/**
 * Makes the library's store write files atomically and turns write errors into failed requests. The library opens all
 * parts of an upload at once and handles errors of one only: a removed upload or a full disk would end the process.
 */
export function makeWritesAtomic(store: Store, directory: string): void {
  store.putContent = async (file, content) => {
    const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
    const digest = createHash("md5");
    let size = 0;
    const body = Readable.from(Buffer.isBuffer(content) ? [content] : content);
    async function* counted() {
      const chunks = body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
      for await (const chunk of chunks) {
        digest.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    }
    try {
      await writeFile(unfinished, counted());
      await rename(unfinished, file);
    } catch (error) {
      // Drains the rest of the body: the next request on the connection follows it.
      body.on("error", () => undefined).resume();
      await rm(unfinished, { force: true });
      throw error;
    }
    return [size, digest.digest("hex")];
  };

  store.putObjectMultipart = async (bucket, uploadId, parts) => {
    const folder = path.join(directory, bucket, "._S3rver_uploads", uploadId);
    const [key, metadata] = await Promise.all(
      ["key", "metadata"].map((name) => readFile(path.join(folder, name), "utf8")),
    ).catch(() => {
      throw new S3Error("NoSuchUpload", "The upload does not exist");
    });
    async function* joined(): AsyncGenerator<Buffer> {
      for (const { number } of parts.toSorted((a, b) => a.number - b.number))
        yield* createReadStream(path.join(folder, String(number))) as AsyncIterable<Buffer>;
    }
    const known = JSON.parse(metadata ?? "{}") as Record<string, string>;
    const stored = await store.putObject(new S3Object(bucket, key ?? "", joined(), known));
    await rm(folder, { recursive: true, force: true });
    return stored;
  };
}
