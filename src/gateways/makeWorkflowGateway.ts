import type { Config } from "../config.ts";
import type { WorkflowGateway } from "./workflow.ts";
import { WorkflowError } from "./workflow.ts";
import { makeWorkflowClient } from "./workflowClient.ts";

/** The workflow that the configuration names. Without one, as a worker alone may be in development, each call says so. */
export function makeWorkflowGateway({ workflow }: Pick<Config, "workflow">): WorkflowGateway {
  const { url, secrets, timeoutMs } = workflow;
  if (url !== undefined) return makeWorkflowClient({ url, secrets, timeoutMs });
  return {
    circuit: () => "closed",
    start: () =>
      Promise.reject(new WorkflowError("No workflow is configured: set PRODUCT_SYNC_WORKFLOW_URL")),
  };
}
