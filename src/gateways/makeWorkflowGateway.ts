import type { Config } from "../config.ts";
import type { WorkflowGateway } from "./workflow.ts";
import { WorkflowError } from "./workflow.ts";
import { makeWorkflowClient } from "./workflowClient.ts";

/** How many numbers of products a line of the log shows. */
const loggedNumbers = 20;

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

/** Takes the calls of isolated test runs in the workflow's place, which they must not start: the recorder, or the log. */
export function makeWorkflowRecorder({ workflow }: Pick<Config, "workflow">): WorkflowGateway {
  const { recorderUrl, secrets, timeoutMs } = workflow;
  if (recorderUrl !== undefined)
    return makeWorkflowClient({ url: recorderUrl, secrets, timeoutMs });
  return {
    circuit: () => "closed",
    start: ({ runId, testRunId, erpProductNumbers }, { log }) => {
      const shown = erpProductNumbers.slice(0, loggedNumbers);
      log.info(
        { runId, testRunId, products: erpProductNumbers.length, erpProductNumbers: shown },
        "test run's workflow call logged only",
      );
      return Promise.resolve();
    },
  };
}
