import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
  S3ServiceException,
  paginateListObjectsV2,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { create as contentDisposition } from "content-disposition";
import { ConsecutiveBreaker, circuitBreaker, handleWhen } from "cockatiel";
import { isNoSpace, recordDiskFull } from "../health/diskFull.ts";
import type { FilesConfig } from "../settings/files.ts";
import { inSpan } from "../telemetry/tracing.ts";
import { circuitOf } from "../health/circuitOf.ts";
import type { FileStore } from "./files.ts";
import { FileStoreError, contentTypeOf } from "./files.ts";
import { rejectOnAbort } from "./rejectOnAbort.ts";
import { requireStoreResponse } from "./s3Responses.ts";

// All parts of a file have the same size, as some stores require; at most two are in memory.
const partSize = 5 * 1024 * 1024;
const partConcurrency = 2;
// Consecutive failures that open the circuit.
const failuresToOpen = 5;
const halfOpenAfterMs = 1_000;

/**
 * An object store with the S3 API. It uses only what AWS, MinIO, Garage, SeaweedFS and others share: no checksums
 * except the signature's, and unfinished uploads are listed by full key.
 */
export function makeS3Files(config: FilesConfig): FileStore {
  const { bucket: Bucket, endpoint, publicEndpoint, accessKeyId, secretAccessKey } = config;
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined)
    return noStore;
  const breaker = circuitBreaker(handleWhen(hasNoResponse), {
    halfOpenAfter: halfOpenAfterMs,
    breaker: new ConsecutiveBreaker(failuresToOpen),
  });
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
        // Also limits a response that stops in the middle.
        socketTimeout: config.timeoutMs,
      },
    });
    // Runs after signing, so it covers each attempt of a request but no presigned URL.
    made.middlewareStack.add(
      (next, { commandName = "" }) =>
        (sent) => {
          const command = commandName.replace(/Command$/, "");
          return breaker.execute(() =>
            inSpan(`S3 ${command}`, "client", { "peer.service": "files" }, async () => {
              const answer = await next(sent);
              requireStoreResponse(command, answer.output ?? { $metadata: {} });
              return answer;
            }),
          );
        },
      { step: "deserialize", priority: "high", name: "attempts" },
    );
    return made;
  }

  // Checked once per process; a bucket deleted later causes ordinary errors.
  let bucketCheck: Promise<void> | undefined;
  async function ensureBucket(): Promise<void> {
    bucketCheck ??= makeBucket();
    await bucketCheck.catch((error: unknown) => {
      bucketCheck = undefined;
      throw error;
    });
  }
  async function makeBucket(): Promise<void> {
    if (await hasBucket()) return;
    await client.send(new CreateBucketCommand({ Bucket })).catch((refusal: unknown) => {
      if (!nameOf(refusal).startsWith("BucketAlready")) throw refusal;
    });
  }
  /**
   * Checked by listing nothing, because the response names the bucket; a proxy could answer simpler requests with
   * success.
   */
  async function hasBucket(signal?: AbortSignal): Promise<boolean> {
    try {
      await client.send(new ListObjectsV2Command({ Bucket, Prefix: "check/", MaxKeys: 1 }), {
        ...(signal && { abortSignal: signal }),
      });
      return true;
    } catch (error) {
      if (nameOf(error) === "NoSuchBucket") return false;
      // Credentials may lack the permission to list the bucket and still be able to use it.
      if (nameOf(error) === "AccessDenied") return true;
      throw error;
    }
  }

  async function removeUnfinished(prefix: string, exactly: boolean): Promise<void> {
    let markers: { KeyMarker?: string; UploadIdMarker?: string } = {};
    for (;;) {
      const page = await client.send(
        new ListMultipartUploadsCommand({ Bucket, Prefix: prefix, ...markers }),
      );
      for (const { Key, UploadId } of page.Uploads ?? [])
        if (Key !== undefined && UploadId !== undefined && (!exactly || Key === prefix))
          await ignoringMissing(() =>
            client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })),
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
      for await (const page of paginateListObjectsV2({ client }, { Bucket, Prefix: prefix }))
        for (const { Key, LastModified } of page.Contents ?? [])
          if (Key !== undefined) yield { key: Key, modifiedAt: LastModified ?? new Date(0) };
    } catch (error) {
      if (nameOf(error) !== "NoSuchBucket") throw toStoreError(error);
    }
  }

  async function remove(key: string): Promise<void> {
    await ignoringMissing(() => removeUnfinished(key, true));
    await ignoringMissing(() => client.send(new DeleteObjectCommand({ Bucket, Key: key })));
  }

  return {
    async write(key, body, signal) {
      // This promise reports the error. The producer of the body may have stopped listening, and an unhandled error
      // event would end the process.
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
        // All writers share the bucket check; an aborted one stops waiting for it.
        await rejectOnAbort(ensureBucket(), signal);
        const upload = new Upload({
          client,
          params: {
            ...{ Bucket, Key: key, Body: Readable.from(counted()) },
            ContentType: contentTypeOf(key),
          },
          partSize,
          queueSize: partConcurrency,
          abortController,
        });
        await upload.done();
        // A retried CreateMultipartUpload may leave an orphan upload.
        if (size >= partSize) await removeUnfinished(key, true);
        return size;
      } catch (error) {
        // Neither an abort nor a failing body is the store's fault.
        const cause: unknown = signal.aborted
          ? signal.reason
          : broken
            ? broken.error
            : toStoreError(error);
        body.destroy(cause instanceof Error ? cause : undefined);
        throw cause;
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    read: (key, signal) =>
      withStoreErrors(async () => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: key }), {
          ...(signal && { abortSignal: signal }),
        });
        return Buffer.from((await Body?.transformToByteArray()) ?? []);
      }, signal),
    remove: (key) => withStoreErrors(() => remove(key)),
    removeAll: (prefix) =>
      withStoreErrors(async () => {
        await ignoringMissing(() => removeUnfinished(prefix, false));
        for await (const { key } of list(prefix)) await remove(key);
      }),
    list,
    link: (key, { fileName, seconds }) =>
      withStoreErrors(() =>
        getSignedUrl(
          publicClient,
          new GetObjectCommand({
            Bucket,
            Key: key,
            ResponseContentDisposition: contentDisposition(fileName),
            ResponseContentType: contentTypeOf(key),
          }),
          { expiresIn: seconds },
        ),
      ),
    check: (signal) =>
      withStoreErrors(async () => {
        // The bucket is created with the first file.
        await hasBucket(signal);
        return undefined;
      }, signal),
    circuit: () => circuitOf(breaker),
    close() {
      client.destroy();
      publicClient.destroy();
    },
  };
}

/** Used when no store is configured, which only development allows. */
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
  circuit: () => "closed",
  close: () => undefined,
};

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** Whether an attempt got no response. Rate limits and a full disk are responses; an aborted attempt proves nothing. */
function hasNoResponse(error: unknown): boolean {
  if (nameOf(error) === "AbortError" || isFull(error)) return false;
  const status = statusOf(error);
  return status === undefined || (status >= 500 && nameOf(error) !== "SlowDown");
}

/** The codes of MinIO, Ceph and others for a full store; AWS has none. */
const fullNames = new Set(["XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"]);

function isFull(error: unknown): boolean {
  return statusOf(error) === 507 || fullNames.has(nameOf(error)) || isNoSpace(error);
}

const missing = new Set(["NoSuchKey", "NoSuchUpload", "NoSuchBucket", "NotFound"]);

async function ignoringMissing(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!missing.has(nameOf(error))) throw error;
  }
}

async function withStoreErrors<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw signal?.aborted ? signal.reason : toStoreError(error);
  }
}

/** The store's errors contain URLs and request ids, which belong in the log only. */
function toStoreError(error: unknown): Error {
  if (error instanceof FileStoreError) return error;
  const status = statusOf(error);
  if (isFull(error)) recordDiskFull("files");
  const reason =
    nameOf(error) === "NoSuchKey"
      ? "The file store does not have the file"
      : isFull(error)
        ? "The file store is full"
        : status === undefined || status >= 500 || status === 429
          ? "The file store cannot be reached"
          : "The file store rejected the request";
  return new FileStoreError(reason, { cause: error });
}
