import { createHmac, timingSafeEqual } from "node:crypto";
import { readFile, readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { S3Context } from "@20minutes/s3rver";
import S3Error from "@20minutes/s3rver/lib/models/error.js";
import * as v4 from "@20minutes/s3rver/lib/signature/v4.js";

export interface KeyPair {
  id: string;
  secret: string;
}

type Middleware = (context: S3Context, next: () => Promise<unknown>) => Promise<unknown>;

const skewMs = 15 * 60 * 1000;

/**
 * Refuses requests that are not signed with the key, in a header or a presigned URL. The library would accept
 * unsigned requests, and it encodes the canonical query string incompletely.
 */
export function requireSignature(key: KeyPair): Middleware {
  return async (context, next) => {
    const { method, headers, query } = context;
    const inHeader = headers["authorization"] !== undefined;
    if (!inHeader && query["X-Amz-Algorithm"] === undefined)
      throw new S3Error("AccessDenied", "Access Denied");
    const request = inHeader ? v4.parseHeader(headers) : v4.parseQuery(query);
    const timestamp = inHeader ? (headers["x-amz-date"] ?? "") : request.time;
    if (inHeader && !(Math.abs(Date.now() - instantOf(timestamp)) < skewMs))
      throw new S3Error("RequestTimeTooSkewed", "The request's time is too far from the server's");
    if (request.accessKeyId !== key.id)
      throw new S3Error("InvalidAccessKeyId", "The access key does not exist");
    const querystring = context.querystring
      .split("&")
      .filter((part) => part !== "" && !part.startsWith("X-Amz-Signature="))
      .map((part) => (part.includes("=") ? part : `${part}=`))
      .toSorted()
      .join("&");
    const { date, region, service } = request.credential;
    const text = v4.getStringToSign(
      { method, uri: context.path, querystring, headers, timestamp },
      request,
    );
    const wanted = createHmac("sha256", v4.getSigningKey(key.secret, date, region, service))
      .update(text)
      .digest();
    const given = Buffer.from(request.signatureProvided, "hex");
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new S3Error("SignatureDoesNotMatch", "The signature does not match the request");
    await next();
  };
}

function instantOf(basic: string): number {
  return Date.parse(
    basic.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
}

/** Adds ListMultipartUploads and AbortMultipartUpload, which the library lacks. */
export function unfinishedUploads(directory: string): Middleware {
  return async (context, next) => {
    const { method, query } = context;
    const [bucket = "", ...rest] = context.path.slice(1).split("/").map(decodeURIComponent);
    const folder = path.join(directory, bucket, "._S3rver_uploads");
    if (method === "GET" && query["uploads"] !== undefined && rest.join("/") === "") {
      context.body = {
        ListMultipartUploadsResult: {
          Bucket: bucket,
          IsTruncated: false,
          Upload: await listUploads(folder, query["prefix"] ?? ""),
        },
      };
      return;
    }
    const { uploadId } = query;
    if (method === "DELETE" && uploadId !== undefined) {
      const known = await listUploads(folder, rest.join("/"));
      if (!known.some((upload) => upload.UploadId === uploadId))
        throw new S3Error("NoSuchUpload", "The upload does not exist");
      await rm(path.join(folder, uploadId), { recursive: true, force: true });
      context.status = 204;
      return;
    }
    await next();
  };
}

async function listUploads(
  folder: string,
  prefix: string,
): Promise<{ Key: string; UploadId: string }[]> {
  const ids = await readdir(folder).catch(() => []);
  const uploads = await Promise.all(
    ids.map(async (UploadId) => ({
      UploadId,
      // The upload was removed, or is just being created.
      Key: await readFile(path.join(folder, UploadId, "key"), "utf8").catch(() => ""),
    })),
  );
  return uploads.filter(({ Key }) => Key !== "" && Key.startsWith(prefix));
}
