import { z } from "zod";
import type { Get, Need } from "./types.ts";
import { httpUrl, list, whole } from "./types.ts";

// 24 to 64 random bytes in base64, as the Standard Webhooks specification asks.
const secret = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

function isPlain({ username, password, hash }: URL): boolean {
  return username === "" && password === "" && hash === "";
}

const plainUrl = httpUrl.refine(
  (value) => !URL.canParse(value) || isPlain(new URL(value)),
  "must be an http(s) address without a user, a password or a fragment",
);

/** The workflow that synchronises products. */
export const workflowSettings = {
  PRODUCT_SYNC_WORKFLOW_URL: {
    schema: plainUrl,
    fallback: undefined,
    meaning:
      "where `triggerProductSync` has the workflow called; required by the worker in production, elsewhere an embedded receiver shows what would come",
  },
  PRODUCT_SYNC_RECORDER_URL: {
    schema: plainUrl,
    fallback: undefined,
    meaning:
      "where isolated test runs have these calls sent, never to the workflow; by default the embedded receiver where it runs, else they are only logged; refused in production",
  },
  PRODUCT_SYNC_WORKFLOW_SECRET: {
    schema: list.pipe(
      z
        .array(z.string().regex(secret, "must be `whsec_` and 24 to 64 bytes in base64"))
        .min(1)
        .max(2, "must be one secret, or two separated by a comma while one replaces the other"),
    ),
    fallback: undefined,
    meaning:
      "signs those calls: `whsec_` and 24 to 64 random bytes in base64, such as from `openssl rand -base64 32`; two, separated by a comma, while one replaces the other",
  },
  PRODUCT_SYNC_WORKFLOW_TIMEOUT_MS: {
    schema: whole(100, 600_000),
    fallback: "10000",
    meaning: "longest time that one such call may take, in milliseconds",
  },
  PRODUCT_SYNC_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded receiver of those calls; 0 takes a free one and keeps to it",
  },
} as const;

export function workflowConfig(get: Get<typeof workflowSettings>) {
  return {
    url: get("PRODUCT_SYNC_WORKFLOW_URL"),
    recorderUrl: get("PRODUCT_SYNC_RECORDER_URL"),
    secrets: get("PRODUCT_SYNC_WORKFLOW_SECRET") ?? [],
    timeoutMs: get("PRODUCT_SYNC_WORKFLOW_TIMEOUT_MS"),
    embeddedPort: get("PRODUCT_SYNC_EMBEDDED_PORT"),
  };
}

type Workflow = ReturnType<typeof workflowConfig>;

export function workflowProblems(
  { url, recorderUrl, secrets }: Workflow,
  production: boolean,
): string[] {
  const problems: string[] = [];
  if (url !== undefined && secrets.length === 0 && !production)
    problems.push("PRODUCT_SYNC_WORKFLOW_SECRET is required with PRODUCT_SYNC_WORKFLOW_URL");
  if (recorderUrl !== undefined && secrets.length === 0 && !production)
    problems.push("PRODUCT_SYNC_WORKFLOW_SECRET is required with PRODUCT_SYNC_RECORDER_URL");
  if (production && recorderUrl !== undefined)
    problems.push(
      "PRODUCT_SYNC_RECORDER_URL must not be set in production: test runs need a server of their own",
    );
  if (production && url !== undefined && !url.startsWith("https:"))
    problems.push("PRODUCT_SYNC_WORKFLOW_URL must be an https address in production");
  return problems;
}

export function workflowNeeds({ url, secrets }: Workflow): Need[] {
  const purpose = ": the worker calls the product-sync workflow";
  return [
    { name: "PRODUCT_SYNC_WORKFLOW_URL", role: "worker", given: url !== undefined, purpose },
    { name: "PRODUCT_SYNC_WORKFLOW_SECRET", role: "worker", given: secrets.length > 0, purpose },
  ];
}
