import type { Constants } from "./constants.ts";
import type { GetSetting } from "./types.ts";
import { list, integer } from "./types.ts";

export const exportSettings = {
  EXPORT_MAX_PRODUCTS: {
    schema: integer(1, 1_000_000),
    fallback: "50000",
    meaning: "largest number of rows in one export",
    usedBy: ["server", "worker"],
  },
  EXPORT_CONCURRENCY: {
    schema: integer(1, 100),
    fallback: "3",
    meaning:
      "exports that run at the same time in all workers together; less than WORKER_CONCURRENCY leaves a single worker room for other jobs",
  },
  EXPORT_RETENTION_DAYS: {
    schema: integer(1, 365),
    fallback: "7",
    meaning: "days after which the file of an export is deleted",
  },
  EXPORT_IMAGE_HOSTS: {
    schema: list,
    fallback: "",
    meaning:
      "hosts (`host` or `host:port`, separated by commas) that pictures of exports may be fetched from, hosts of the internal network included; when it is empty, every host of the public internet",
  },
} as const;

export function exportsConfig(
  get: GetSetting<typeof exportSettings>,
  constants: Constants["exports"],
) {
  return {
    ...constants,
    maxProducts: get("EXPORT_MAX_PRODUCTS"),
    atOnce: get("EXPORT_CONCURRENCY"),
    keepDays: get("EXPORT_RETENTION_DAYS"),
    images: { ...constants.images, hosts: get("EXPORT_IMAGE_HOSTS") },
  };
}

export type ExportsConfig = ReturnType<typeof exportsConfig>;
