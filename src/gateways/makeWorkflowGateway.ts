import type { Config } from "../config.ts";
import type { WorkflowGateway } from "./workflow.ts";
import { WorkflowError } from "./workflow.ts";
import { makeWorkflowClient } from "./workflowClient.ts";

/** How many product numbers a log line shows. */
const loggedNumbers = 20;

/**
 * The configured workflow. Without one, which only a worker in development may lack, each call fails with a message.
 */
export function makeWorkflowGateway({ workflow }: Pick<Config, "workflow">): WorkflowGateway {
  const { url, secrets, timeoutMs } = workflow;
  if (url !== undefined) return makeWorkflowClient({ url, secrets, timeoutMs });
  return {
    circuit: () => "closed",
    start: () =>
      Promise.reject(new WorkflowError("No workflow is configured: set PRODUCT_SYNC_WORKFLOW_URL")),
  };
}

/** Receives the calls of isolated test runs, which must not start the workflow: the configured recorder, or the log. */
export function makeWorkflowRecorder({ workflow }: Pick<Config, "workflow">): WorkflowGateway {
  const { recorderUrl, secrets, timeoutMs } = workflow;
  if (recorderUrl !== undefined)
    return makeWorkflowClient({ url: recorderUrl, secrets, timeoutMs });
  return {
    circuit: () => "closed",
    start: ({ runId, testRunId, erpProductNumbers }, { log }) => {
      const loggedProducts = erpProductNumbers.slice(0, loggedNumbers);
      log.info(
        { runId, testRunId, products: erpProductNumbers.length, erpProductNumbers: loggedProducts },
        "test run's workflow call logged only",
      );
      return Promise.resolve();
    },
  };
}
