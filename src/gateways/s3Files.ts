import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  S3Client,
  S3ServiceException,
  paginateListObjectsV2,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { create as contentDisposition } from "content-disposition";
import type { FilesConfig } from "../settings/files.ts";
import { inSpan } from "../telemetry/tracing.ts";
import type { FileStore } from "./files.ts";
import { FileStoreError, workbookType } from "./files.ts";

// The parts of one file are equally large, as some stores ask, and two are in memory at most.
const partSize = 5 * 1024 * 1024;
const partsAtOnce = 2;

/**
 * The store on any S3. It uses only what AWS, MinIO, Garage, SeaweedFS and others have in common: no checksums beyond those of the
 * signature, and unfinished uploads are looked for by their full name.
 */
export function makeS3Files(config: FilesConfig): FileStore {
  const { bucket: Bucket, endpoint, publicEndpoint, accessKeyId, secretAccessKey } = config;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return noStore;
  const client = clientAt(endpoint);
  const publicClient = publicEndpoint === endpoint ? client : clientAt(publicEndpoint ?? endpoint);

  function clientAt(address: string): S3Client {
    const made = new S3Client({
      endpoint: address,
      region: config.region,
      credentials: { accessKeyId: accessKeyId ?? "", secretAccessKey: secretAccessKey ?? "" },
      forcePathStyle: config.forcePathStyle,
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      maxAttempts: 3,
      requestHandler: {
        connectionTimeout: Math.min(5_000, config.timeoutMs),
        requestTimeout: config.timeoutMs,
        throwOnRequestTimeout: true,
        // Beside the answer as such, one that stops in the middle.
        socketTimeout: config.timeoutMs,
      },
    });
    // After the signature: a span for each attempt at a call, none for addresses that are signed here.
    made.middlewareStack.add(
      (next, { commandName = "" }) =>
        (sent) =>
          inSpan(
            `S3 ${commandName.replace(/Command$/, "")}`,
            "client",
            { "peer.service": "files" },
            () => next(sent),
          ),
      { step: "deserialize", priority: "high", name: "spans" },
    );
    return made;
  }

  // Asked once in the life of a process; a bucket that disappears later is an error like any other.
  let bucketThere: Promise<void> | undefined;
  async function ensureBucket(): Promise<void> {
    bucketThere ??= makeBucket();
    await bucketThere.catch((error: unknown) => {
      bucketThere = undefined;
      throw error;
    });
  }
  async function makeBucket(): Promise<void> {
    try {
      await client.send(new HeadBucketCommand({ Bucket }));
    } catch (error) {
      // Whoever may not look at buckets may still use this one.
      if (statusOf(error) === 403) return;
      if (statusOf(error) !== 404) throw error;
      await client.send(new CreateBucketCommand({ Bucket })).catch((refusal: unknown) => {
        if (!nameOf(refusal).startsWith("BucketAlready")) throw refusal;
      });
    }
  }

  async function removeUnfinished(prefix: string, exactly: boolean): Promise<void> {
    let markers: { KeyMarker?: string; UploadIdMarker?: string } = {};
    for (;;) {
      const page = await client.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...markers }),
      );
      expectStore(page.Bucket !== undefined);
      for (const { Key, UploadId } of page.Uploads ?? [])
        if (Key !== undefined && UploadId !== undefined && (!exactly || Key === prefix))
          await ignoringMissing(async () =>
            expectEmpty(
              await client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
            ),
          );
      if (!page.IsTruncated || page.NextKeyMarker === undefined) return;
      markers = {
        KeyMarker: page.NextKeyMarker,
        ...(page.NextUploadIdMarker && { UploadIdMarker: page.NextUploadIdMarker }),
      };
    }
  }

  async function* list(prefix: string) {
    try {
      for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix })) {
        expectStore(page.Name !== undefined);
        for (const { Key, LastModified } of page.Contents ?? [])
          if (Key !== undefined) yield { key: Key, modifiedAt: LastModified ?? new Date(0) };
      }
    } catch (error) {
      if (nameOf(error) !== "NoSuchBucket") throw told(error);
    }
  }

  async function remove(key: string): Promise<void> {
    await ignoringMissing(() => removeUnfinished(key, true));
    await ignoringMissing(async () =>
      expectEmpty(await client.send(new DeleteObjectCommand({ Bucket, Key: key }))),
    );
  }

  return {
    async write(key, body, signal) {
      // What goes wrong is told by this promise. Whoever fills the body may have done so and listen no more; an error that nobody
      // listens to would end the process.
      body.on("error", () => undefined);
      const abortController = new AbortController();
      const stop = () => abortController.abort();
      let size = 0;
      let broken: { error: unknown } | undefined;
      async function* counted() {
        try {
          for await (const chunk of body as AsyncIterable<Buffer>) {
            size += chunk.length;
            yield chunk;
          }
        } catch (error) {
          broken = { error };
          throw error;
        }
      }
      signal.addEventListener("abort", stop, { once: true });
      try {
        signal.throwIfAborted();
        await ensureBucket();
        const upload = new Upload({
          client,
          params: { Bucket, Key: key, Body: Readable.from(counted()), ContentType: workbookType },
          partSize,
          queueSize: partsAtOnce,
          abortController,
        });
        const { ETag } = await upload.done();
        expectStore(ETag !== undefined);
        // A beginning whose answer was lost has been repeated, and the first one is nobody's.
        if (size >= partSize) await removeUnfinished(key, true);
        return size;
      } catch (error) {
        // Neither what stops the work from outside nor a body that breaks off is a fault of the store.
        const cause: unknown = signal.aborted ? signal.reason : broken ? broken.error : told(error);
        body.destroy(cause instanceof Error ? cause : undefined);
        throw cause;
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    read: (key, signal) =>
      telling(async () => {
        const { Body, ETag, ContentType } = await client.send(
          new GetObjectCommand({ Bucket, Key: key }),
          { ...(signal && { abortSignal: signal }) },
        );
        // No page is kept there, and servers of pages have tags as well.
        expectStore(ETag !== undefined && !ContentType?.startsWith("text/html"));
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      }, signal),
    remove: (key) => telling(() => remove(key)),
    removeAll: (prefix) =>
      telling(async () => {
        await ignoringMissing(() => removeUnfinished(prefix, false));
        for await (const { key } of list(prefix)) await remove(key);
      }),
    list,
    link: (key, { fileName, seconds }) =>
      telling(() =>
        getSignedUrl(
          publicClient,
          new GetObjectCommand({
            Bucket,
            Key: key,
            ResponseContentDisposition: contentDisposition(fileName),
            ResponseContentType: workbookType,
          }),
          { expiresIn: seconds },
        ),
      ),
    check: (signal) =>
      telling(async () => {
        await client
          .send(new HeadBucketCommand({ Bucket }), { abortSignal: signal })
          .catch((error: unknown) => {
            // Made with the first file; whoever may not look at buckets may still use this one.
            if (![403, 404].includes(statusOf(error) ?? 0)) throw error;
          });
        return undefined;
      }, signal),
    close() {
      client.destroy();
      publicClient.destroy();
    },
  };
}

/** Where no store is configured, as can be outside production only. */
const refused = () =>
  Promise.reject(new FileStoreError("No file store is configured: set S3_ENDPOINT"));
const noStore: FileStore = {
  write: refused,
  read: refused,
  remove: refused,
  removeAll: refused,
  list: () => ({ [Symbol.asyncIterator]: () => ({ next: refused }) }),
  link: refused,
  check: refused,
  close: () => undefined,
};

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/**
 * Whatever stands in the way can say 200, such as a proxy's page: a store's answers name what they are about.
 * @throws Error where one does not
 */
function expectStore(isStore: boolean): void {
  if (!isStore) throw new Error("The answer is not a store's");
}

/** What is removed is answered with 204. @throws Error where it is not */
function expectEmpty({ $metadata }: { $metadata: { httpStatusCode?: number | undefined } }): void {
  expectStore($metadata.httpStatusCode === 204);
}

const missing = new Set(["NoSuchKey", "NoSuchUpload", "NoSuchBucket", "NotFound"]);

async function ignoringMissing(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!missing.has(nameOf(error))) throw error;
  }
}

async function telling<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? signal.reason : told(error);
  }
}

/** The store's errors hold addresses and request ids, which are nobody's business but the log's. */
function told(error: unknown): Error {
  if (error instanceof FileStoreError) return error;
  const status = statusOf(error);
  const reason =
    nameOf(error) === "NoSuchKey"
      ? "The file store does not have the file"
      : status === undefined || status >= 500 || status === 429
        ? "The file store cannot be reached just now"
        : "The file store refuses";
  return new FileStoreError(reason, { cause: error });
}
