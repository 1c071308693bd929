import { z } from "zod";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";
import { httpUrl, list } from "./types.ts";

// 24 to 64 random bytes in base64, as the Standard Webhooks specification requires.
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
      "address that `triggerProductSync` calls; required by the worker in production, an emulator starts elsewhere without it",
    example: "https://workflows.example/product-sync",
  },
  PRODUCT_SYNC_RECORDER_URL: {
    schema: plainUrl,
    fallback: undefined,
    meaning:
      "address that isolated test runs call instead of the workflow, by default the emulator where it runs; without either the calls are logged; refused in production",
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
      "signs those calls: `whsec_` and 24 to 64 random bytes in base64, such as from `openssl rand -base64 32`; two, separated by a comma, during a rotation",
  },
} as const;

export function workflowConfig(
  get: GetSetting<typeof workflowSettings>,
  constants: Constants["workflow"],
) {
  return {
    ...constants,
    url: get("PRODUCT_SYNC_WORKFLOW_URL"),
    recorderUrl: get("PRODUCT_SYNC_RECORDER_URL"),
    secrets: get("PRODUCT_SYNC_WORKFLOW_SECRET") ?? [],
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
      "PRODUCT_SYNC_RECORDER_URL must not be set in production: isolated test runs need a server outside production",
    );
  if (production && url !== undefined && !url.startsWith("https:"))
    problems.push("PRODUCT_SYNC_WORKFLOW_URL must be an https address in production");
  return problems;
}

export function workflowNeeds({ url, secrets }: Workflow): Need[] {
  const purpose = ": the worker calls the product-sync workflow";
  return [
    { name: "PRODUCT_SYNC_WORKFLOW_URL", role: "worker", isSet: url !== undefined, purpose },
    { name: "PRODUCT_SYNC_WORKFLOW_SECRET", role: "worker", isSet: secrets.length > 0, purpose },
  ];
}
