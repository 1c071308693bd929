import type { Task } from "graphile-worker";
import { z } from "zod";
import { inSpan, tracing } from "./tracing.ts";

const envelope = z.object({
  correlationId: z.string().nullish().catch(null),
  traceparent: z.string().nullish().catch(null),
});

/** Records a span for each attempt of a job, in the trace of the request that added the job. */
export function traceTask(name: string, task: Task): Task {
  return async (payload, helpers) => {
    if (!tracing()) return task(payload, helpers);
    const { data } = envelope.safeParse(payload);
    const { correlationId, traceparent } = data ?? {};
    return inSpan(
      `job ${name}`,
      "consumer",
      { "office.job_id": helpers.job.id, "office.correlation_id": correlationId ?? "" },
      () => task(payload, helpers),
      traceparent ?? undefined,
    );
  };
}
