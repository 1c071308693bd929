import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";
import { httpUrl } from "./types.ts";

/** The object store for files, with the API of S3. */
export const fileSettings = {
  S3_ENDPOINT: {
    schema: httpUrl,
    fallback: undefined,
    meaning:
      "address of the S3 object store; required in production, an emulator starts elsewhere without it",
  },
  S3_PUBLIC_ENDPOINT: {
    schema: httpUrl,
    fallback: undefined,
    meaning: "address under which users reach the object store, for links to files",
    defaultNote: "S3_ENDPOINT",
    example: "https://files.office.example",
    usedBy: ["server"],
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
      "bucket of this deployment alone, created when it is missing; jobs delete files below `<schema>/exports/` and `<schema>/assistant/` that are older than an hour and unknown to the database",
  },
  S3_ACCESS_KEY_ID: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "access key of the object store; required with S3_ENDPOINT",
  },
  S3_SECRET_ACCESS_KEY: {
    schema: z.string().min(1),
    fallback: undefined,
    meaning: "secret of the access key; required with S3_ENDPOINT",
  },
} as const;

export function filesConfig(get: GetSetting<typeof fileSettings>, constants: Constants["files"]) {
  const endpoint = get("S3_ENDPOINT");
  return {
    ...constants,
    endpoint,
    publicEndpoint: get("S3_PUBLIC_ENDPOINT") ?? endpoint,
    region: get("S3_REGION"),
    bucket: get("S3_BUCKET"),
    accessKeyId: get("S3_ACCESS_KEY_ID"),
    secretAccessKey: get("S3_SECRET_ACCESS_KEY"),
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
  const need = { name: "S3_ENDPOINT", isSet: endpoint !== undefined, purpose: ", for exports" };
  return [
    { ...need, role: "server" },
    { ...need, role: "worker" },
  ];
}
