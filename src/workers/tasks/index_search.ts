import { z } from "zod";
import { SearchEngineError, SearchRefusedError } from "../../gateways/search.ts";
import { makeTypesense } from "../../gateways/typesense.ts";
import { buildStep } from "../../search/build.ts";
import { deliverChanges } from "../../search/deliver.ts";
import { warnIfOutdated } from "../../search/engineVersion.ts";
import { reconcile } from "../../search/reconcile.ts";
import { keySource } from "../../search/parentKeys.ts";
import { readStates } from "../../search/state.ts";
import { JobPostponed } from "../queue/JobProblem.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

// Delay before the next attempt, when the engine is unreachable and when it rejects a request.
const unreachableDelayMs = 1_000;
const rejectedDelayMs = 20_000;

/**
 * Delivers changes to the search engine and builds collections, alternating one step of each. Jobs of one tenant share
 * a queue, so at most one runs. With `check` it also compares the engine's collections with the database's. While the
 * engine is unreachable, the job is postponed and changes stay in the outbox. The start and end of an outage are
 * recorded.
 */
export const indexSearch: TaskDefinition = (environment) => {
  const { search } = environment.config;
  const engine = makeTypesense(search);
  if (engine) {
    environment.systems.add({
      name: "search",
      check: () => engine.check(),
      circuit: () => engine.circuit(),
    });
    warnIfOutdated(engine, environment.log);
  }
  const task = defineTask(
    z.object({ check: z.boolean().default(false) }),
    async ({ input: { check }, tenant, inTenant, reportInTenant, signal, log }) => {
      if (engine === null) return;
      const work = { engine, inTenant, reportInTenant, signal, log };
      try {
        if (check) await reconcile(work, tenant, keySource(search));
        const refused = new Set<string>();
        // Builds that the engine rejected are retried only in a check.
        if (!check)
          for (const { type, error } of await inTenant(readStates))
            if (error !== null) refused.add(type);
        for (let isFirstStep = true; ; isFirstStep = false) {
          signal.throwIfAborted();
          const delivered = await deliverChanges(work);
          const built = await buildStep(work, refused);
          const isIdle = delivered === 0 && !built;
          // An idle job without a check has not called the engine.
          if (isFirstStep && (check || !isIdle))
            await inTenant((client) => client.query("select record_search_is_up()"));
          if (isIdle) return;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof SearchEngineError || error instanceof SearchRefusedError)
          await inTenant((client) =>
            client.query("select record_search_is_down($1)", [error.message]),
          );
        if (error instanceof SearchEngineError)
          throw new JobPostponed(error.message, unreachableDelayMs, error);
        if (!(error instanceof SearchRefusedError)) throw error;
        log.error({ reason: error.message }, "search engine rejected a request");
        throw new JobPostponed(error.message, rejectedDelayMs, error);
      }
    },
  );
  return task(environment);
};
