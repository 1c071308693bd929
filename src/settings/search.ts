import { z } from "zod";
import type { Get, Need } from "./types.ts";
import { whole } from "./types.ts";

/** A server of the search engine, as its clients name it. */
export interface SearchNode {
  host: string;
  port: number;
  protocol: "http" | "https";
}

const addresses = z.string().transform((text, context): SearchNode[] => {
  const nodes = text.split(",").map((part) => part.trim());
  return nodes.flatMap((node) => {
    const url = URL.canParse(node) ? new URL(node) : null;
    if (url && /^https?:$/.test(url.protocol) && url.pathname === "/" && !url.username)
      return [
        {
          host: url.hostname,
          port: Number(url.port) || (url.protocol === "https:" ? 443 : 80),
          protocol: url.protocol === "https:" ? ("https" as const) : ("http" as const),
        },
      ];
    context.addIssue({
      code: "custom",
      message: "must be http(s) addresses without a path, separated by commas",
    });
    return [];
  });
});

/** The search engine: Typesense, one server or the nodes of a cluster. */
export const searchSettings = {
  TYPESENSE_URL: {
    schema: addresses,
    fallback: undefined,
    meaning:
      "addresses of the Typesense nodes, separated by commas; required in production, elsewhere an embedded stand-in starts without it",
  },
  TYPESENSE_PUBLIC_URL: {
    schema: addresses,
    fallback: undefined,
    meaning: "addresses under which front ends reach the nodes; by default TYPESENSE_URL",
  },
  TYPESENSE_API_KEY: {
    schema: z.string().min(16, "must be at least 16 characters"),
    fallback: undefined,
    meaning: "administration key of Typesense; required with TYPESENSE_URL",
  },
  TYPESENSE_PREFIX: {
    schema: z
      .string()
      .regex(/^([a-z][a-z0-9_]{0,29})?$/, "must be at most 30 of a-z, 0-9 and _, a letter first"),
    fallback: "",
    meaning:
      "what the names of this deployment's collections begin with in Typesense, such as `staging_`, where several share one; by default they are `products` and so on",
  },
  TYPESENSE_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "5000",
    meaning: "longest wait for one answer of a Typesense node, in milliseconds",
  },
  TYPESENSE_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded search engine; 0 takes a free one and keeps to it",
  },
} as const;

export function searchConfig(get: Get<typeof searchSettings>) {
  const nodes = get("TYPESENSE_URL");
  return {
    nodes,
    publicNodes: get("TYPESENSE_PUBLIC_URL") ?? nodes,
    apiKey: get("TYPESENSE_API_KEY"),
    prefix: get("TYPESENSE_PREFIX"),
    timeoutMs: get("TYPESENSE_TIMEOUT_MS"),
    embeddedPort: get("TYPESENSE_EMBEDDED_PORT"),
  };
}

export type SearchSettings = ReturnType<typeof searchConfig>;

export function searchProblems({ nodes, apiKey }: SearchSettings): string[] {
  return nodes !== undefined && apiKey === undefined
    ? ["TYPESENSE_API_KEY is required with TYPESENSE_URL"]
    : [];
}

export function searchNeeds({ nodes }: SearchSettings): Need[] {
  const need = { name: "TYPESENSE_URL", given: nodes !== undefined, purpose: ", for searches" };
  return [
    { ...need, role: "server" },
    { ...need, role: "worker" },
  ];
}
