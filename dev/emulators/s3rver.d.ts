// Types for the used parts of a library without type definitions.
declare module "@20minutes/s3rver" {
  import type { Server } from "node:http";

  /** Koa's context of a request. */
  interface S3Context {
    method: string;
    /** The path as sent, not decoded. */
    path: string;
    querystring: string;
    query: Record<string, string | undefined>;
    headers: Record<string, string | undefined>;
    status: number;
    /** A plain object is sent as XML. */
    body: unknown;
  }

  class S3rver {
    constructor(options: {
      address: string;
      port: number;
      directory: string;
      silent: boolean;
      vhostBuckets: boolean;
      allowMismatchedSignatures: boolean;
    });
    store: {
      /** Returns the size and the MD5 hash of the written content. */
      putContent(path: string, content: Buffer | AsyncIterable<Buffer>): Promise<[number, string]>;
      putObject(object: unknown): Promise<{ size: number; md5: string }>;
      putObjectMultipart(
        bucket: string,
        uploadId: string,
        parts: readonly { number: number }[],
      ): Promise<{ size: number; md5: string }>;
    };
    /** The last one is the router. */
    middleware: ((context: S3Context, next: () => Promise<unknown>) => Promise<unknown>)[];
    httpServer: Server;
    run(): Promise<{ port: number }>;
  }
  export type { S3Context };
  // eslint-disable-next-line no-restricted-syntax -- the library has it so
  export default S3rver;
}

declare module "@20minutes/s3rver/lib/signature/v4.js" {
  interface SignedRequest {
    accessKeyId: string;
    credential: { date: string; region: string; service: string };
    signatureProvided: string;
    time: string;
  }
  export function parseHeader(headers: Record<string, string | undefined>): SignedRequest;
  export function parseQuery(query: Record<string, string | undefined>): SignedRequest;
  export function getStringToSign(
    canonical: {
      method: string;
      uri: string;
      querystring: string;
      headers: Record<string, string | undefined>;
      timestamp: string;
    },
    request: SignedRequest,
  ): string;
  export function getSigningKey(
    secret: string,
    date: string,
    region: string,
    service: string,
  ): Buffer;
}

declare module "@20minutes/s3rver/lib/models/account.js" {
  export const DUMMY_ACCOUNT: {
    createKeyPair(id: string, secret: string): void;
    revokeAccessKey(id: string): void;
  };
}

declare module "@20minutes/s3rver/lib/models/error.js" {
  // eslint-disable-next-line no-restricted-syntax -- the library has it so
  export default class S3Error extends Error {
    constructor(code: string, message: string);
  }
}

declare module "@20minutes/s3rver/lib/models/object.js" {
  const S3Object: new (
    bucket: string,
    key: string,
    content: AsyncIterable<Buffer>,
    metadata: Record<string, string>,
  ) => object;
  // eslint-disable-next-line no-restricted-syntax -- the library has it so
  export default S3Object;
}
