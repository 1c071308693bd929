import type { Get } from "./types.ts";
import { whole } from "./types.ts";

export const searchEngineSettings = {
  TYPESENSE_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded search engine; 0 takes a free one and keeps to it",
  },
} as const;

export function searchEngineConfig(get: Get<typeof searchEngineSettings>) {
  return { embeddedPort: get("TYPESENSE_EMBEDDED_PORT") };
}
