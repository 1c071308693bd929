import type { Get } from "./types.ts";
import { list, whole } from "./types.ts";

export const exportSettings = {
  EXPORT_MAX_PRODUCTS: {
    schema: whole(1, 1_000_000),
    fallback: "50000",
    meaning: "most products of one export",
  },
  EXPORT_CONCURRENCY: {
    schema: whole(1, 100),
    fallback: "3",
    meaning:
      "exports that run at a time, over all workers; with fewer than WORKER_CONCURRENCY, a single worker still has room for other jobs",
  },
  EXPORTS_AT_ONCE_PER_USER: {
    schema: whole(1, 100),
    fallback: "2",
    meaning:
      "exports of one user that run at a time; always fewer than EXPORT_CONCURRENCY, unless that is 1",
  },
  EXPORT_RETENTION_DAYS: {
    schema: whole(1, 365),
    fallback: "7",
    meaning: "days that the file of an export is kept",
  },
  EXPORT_LINK_SECONDS: {
    schema: whole(10, 86_400),
    fallback: "300",
    meaning: "seconds that a download link of an export works",
  },
  EXPORT_WORKBOOK_BYTES: {
    schema: whole(10_000, 104_857_600),
    fallback: "10485760",
    meaning: "largest workbook that can be uploaded as a template, in bytes",
  },
  EXPORT_IMAGE_HOSTS: {
    schema: list,
    fallback: "",
    meaning:
      "hosts (`host` or `host:port`, separated by commas) that pictures for exports are fetched from, and no others; these may lie inside one's own network. Empty, any host of the public internet will do",
  },
  EXPORT_IMAGE_BYTES: {
    schema: whole(1_000, 104_857_600),
    fallback: "5242880",
    meaning: "largest picture that is taken into an export, in bytes",
  },
  EXPORT_IMAGE_TIMEOUT_MS: {
    schema: whole(100, 60_000),
    fallback: "10000",
    meaning: "longest time that fetching a picture may take, in milliseconds",
  },
} as const;

export function exportsConfig(get: Get<typeof exportSettings>) {
  return {
    maxProducts: get("EXPORT_MAX_PRODUCTS"),
    atOnce: get("EXPORT_CONCURRENCY"),
    atOncePerUser: get("EXPORTS_AT_ONCE_PER_USER"),
    keepDays: get("EXPORT_RETENTION_DAYS"),
    linkSeconds: get("EXPORT_LINK_SECONDS"),
    workbookBytes: get("EXPORT_WORKBOOK_BYTES"),
    images: {
      hosts: get("EXPORT_IMAGE_HOSTS"),
      bytes: get("EXPORT_IMAGE_BYTES"),
      timeoutMs: get("EXPORT_IMAGE_TIMEOUT_MS"),
    },
  };
}

export type ExportsConfig = ReturnType<typeof exportsConfig>;
