import type pg from "pg";
import { z } from "zod";
import { makeWorkflowGateway, makeWorkflowRecorder } from "../../gateways/makeWorkflowGateway.ts";
import type { ProductSyncCall } from "../../gateways/workflow.ts";
import {
  WorkflowError,
  WorkflowRefusedError,
  WorkflowCircuitOpenError,
} from "../../gateways/workflow.ts";
import { JobPostponed, JobProblem } from "../queue/JobProblem.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

interface Run {
  id: string;
  erp_product_numbers: string[];
  user_id: string | null;
  api_token_id: string | null;
  correlation_id: string | null;
  created_at: Date;
}

/**
 * Calls the product-sync workflow for one run, with the run's id at each attempt. The delivery is recorded in the
 * transaction that ends the job: after a crash the call may repeat, and the workflow recognizes the id. Isolated test
 * runs call a recorder instead.
 */
export const productSync: TaskDefinition = (environment) => {
  const gateway = makeWorkflowGateway(environment.config);
  const recorder = makeWorkflowRecorder(environment.config);
  // Only the circuit state is reported, since a request to the workflow would start a run.
  if (environment.config.workflow.url !== undefined)
    environment.systems.add({ name: "workflow", circuit: () => gateway.circuit() });
  const task = defineTask(
    z.strictObject({ runId: z.uuid() }),
    async ({ input: { runId }, tenant, config, log, signal, inTenant, complete, fail }) => {
      const run = await inTenant((client) => load(client, runId));
      if (!run) {
        log.info({ runId }, "workflow run already delivered");
        return;
      }
      const called = tenant === config.database.schema ? gateway : recorder;
      try {
        await called.start(callOf(run, tenant, config.database.schema), { signal, log });
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof WorkflowRefusedError) {
          log.error({ runId, reason: error.message }, "workflow run rejected");
          await fail(error.message, async () => {});
          return;
        }
        if (!(error instanceof WorkflowError)) throw error;
        const { message, retryAfterMs: notBeforeMs } = error;
        throw error instanceof WorkflowCircuitOpenError
          ? new JobPostponed(message, notBeforeMs, error)
          : new JobProblem(message, { cause: error, notBeforeMs });
      }
      await complete((client) => client.query("select record_product_sync_delivery($1)", [runId]));
      if (called === gateway)
        log.info({ runId, products: run.erp_product_numbers.length }, "workflow run delivered");
    },
  );
  return task(environment);
};

async function load(client: pg.ClientBase, runId: string): Promise<Run | undefined> {
  const { rows } = await client.query<Run>("select * from product_sync_call($1)", [runId]);
  return rows[0];
}

function callOf(run: Run, tenant: string, schema: string): ProductSyncCall {
  return {
    runId: run.id,
    erpProductNumbers: run.erp_product_numbers,
    testRunId: tenant === schema ? null : tenant.slice(`${schema}_e2e_`.length),
    requestedBy: { userId: run.user_id, apiTokenId: run.api_token_id },
    requestedAt: run.created_at,
    correlationId: run.correlation_id,
  };
}
