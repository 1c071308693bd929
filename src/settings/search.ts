import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";

/** The address of a search server, as Typesense clients take it. */
export interface SearchNode {
  host: string;
  port: number;
  protocol: "http" | "https";
}

/** The address of a node without a path, as the policy of a page names it. */
export function nodeOrigin({ protocol, host, port }: SearchNode): string {
  return new URL(`${protocol}://${host}:${port}`).origin;
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
      "addresses of the Typesense nodes, separated by commas; required in production, an emulator starts elsewhere without it",
  },
  TYPESENSE_PUBLIC_URL: {
    schema: addresses,
    fallback: undefined,
    meaning: "addresses under which front ends reach the nodes, separated by commas",
    defaultNote: "TYPESENSE_URL",
    example: "https://search.office.example",
    usedBy: ["server"],
  },
  TYPESENSE_API_KEY: {
    schema: z.string().min(16, "must be at least 16 characters"),
    fallback: undefined,
    meaning: "administration key of Typesense, at least 16 characters; required with TYPESENSE_URL",
  },
  TYPESENSE_PREFIX: {
    schema: z
      .string()
      .regex(/^([a-z][a-z0-9_]{0,29})?$/, "must be at most 30 of a-z, 0-9 and _, a letter first"),
    fallback: "",
    meaning:
      "prefix of the names of this deployment's collections, such as `staging_`, where several deployments share one Typesense",
  },
} as const;

export function searchConfig(
  get: GetSetting<typeof searchSettings>,
  constants: Constants["search"],
) {
  const nodes = get("TYPESENSE_URL");
  return {
    ...constants,
    nodes,
    publicNodes: get("TYPESENSE_PUBLIC_URL") ?? nodes,
    apiKey: get("TYPESENSE_API_KEY"),
    prefix: get("TYPESENSE_PREFIX"),
  };
}

export type SearchSettings = ReturnType<typeof searchConfig>;

export function searchProblems({ nodes, apiKey }: SearchSettings): string[] {
  return nodes !== undefined && apiKey === undefined
    ? ["TYPESENSE_API_KEY is required with TYPESENSE_URL"]
    : [];
}

export function searchNeeds({ nodes }: SearchSettings): Need[] {
  const need = { name: "TYPESENSE_URL", isSet: nodes !== undefined, purpose: ", for searches" };
  return [
    { ...need, role: "server" },
    { ...need, role: "worker" },
  ];
}
