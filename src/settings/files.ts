import { z } from "zod";
import type { Get, Need } from "./types.ts";
import { flag, httpUrl, whole } from "./types.ts";

/** The object store that holds the files: any that speaks S3. */
export const fileSettings = {
  S3_ENDPOINT: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "address of the S3 object store; required in production, elsewhere an embedded one starts without it",
  },
  S3_PUBLIC_ENDPOINT: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "address under which users reach the object store, for the links to files; by default S3_ENDPOINT",
  },
  S3_REGION: {
    schema: z.string().regex(/^[a-z0-9-]{1,40}$/, "must be a region such as eu-west-1"),
    fallback: "us-east-1",
    meaning: "region that requests to the object store are signed for",
  },
  S3_BUCKET: {
    schema: z
      .string()
      .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, "must be 3 to 63 of a-z, 0-9, . and -"),
    fallback: "back-office",
    meaning:
      "bucket for this deployment alone, made when it is missing; jobs remove files below `<schema>/exports/` and `<schema>/assistant/` from it that are older than an hour and that the database does not know, as after a restore",
  },
  S3_ACCESS_KEY_ID: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "access key of the object store; required with S3_ENDPOINT",
  },
  S3_SECRET_ACCESS_KEY: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "the access key's secret; required with S3_ENDPOINT",
  },
  S3_FORCE_PATH_STYLE: {
    schema: flag,
    fallback: "true",
    meaning: "whether the bucket stands in the path of addresses, not in their host name",
  },
  S3_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "30000",
    meaning:
      "longest wait for one answer of the object store, in milliseconds; files are sent in parts of 5 MiB, each a request of its own",
  },
  S3_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded object store; 0 takes a free one and keeps to it",
  },
} as const;

export function filesConfig(get: Get<typeof fileSettings>) {
  const endpoint = get("S3_ENDPOINT");
  return {
    endpoint,
    publicEndpoint: get("S3_PUBLIC_ENDPOINT") ?? endpoint,
    region: get("S3_REGION"),
    bucket: get("S3_BUCKET"),
    accessKeyId: get("S3_ACCESS_KEY_ID"),
    secretAccessKey: get("S3_SECRET_ACCESS_KEY"),
    forcePathStyle: get("S3_FORCE_PATH_STYLE"),
    timeoutMs: get("S3_TIMEOUT_MS"),
    embeddedPort: get("S3_EMBEDDED_PORT"),
  };
}

export type FilesConfig = ReturnType<typeof filesConfig>;

export function filesProblems(files: FilesConfig): string[] {
  if (files.endpoint === undefined) return [];
  return Object.entries({
    S3_ACCESS_KEY_ID: files.accessKeyId,
    S3_SECRET_ACCESS_KEY: files.secretAccessKey,
  })
    .filter(([, value]) => value === undefined)
    .map(([name]) => `${name} is required with S3_ENDPOINT`);
}

export function filesNeeds({ endpoint }: FilesConfig): Need[] {
  const need = { name: "S3_ENDPOINT", given: endpoint !== undefined, purpose: ", for exports" };
  return [
    { ...need, role: "server" },
    { ...need, role: "worker" },
  ];
}
