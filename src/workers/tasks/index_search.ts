import { z } from "zod";
import { SearchEngineError, SearchRefusedError } from "../../gateways/search.ts";
import { makeTypesense } from "../../gateways/typesense.ts";
import { buildStep } from "../../search/build.ts";
import { deliver } from "../../search/deliver.ts";
import { warnOfOldEngine } from "../../search/engineVersion.ts";
import { reconcile } from "../../search/reconcile.ts";
import { keySource } from "../../search/parentKeys.ts";
import { readStates } from "../../search/state.ts";
import { JobPostponed } from "../queue/JobProblem.ts";
import type { TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

// How soon an engine that is away is asked again, and one that refuses what it should not, in milliseconds.
const awayMs = 1_000;
const refusesMs = 20_000;

/**
 * Tells the search engine of all that has changed, and builds collections that are to be built, a step of the one after a step of the
 * other. Jobs of one tenant stand in one queue: at most one of them runs. With `check` it also looks whether the engine has what it
 * should. While the engine is away the job waits, and what has changed waits in the outbox.
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
    warnOfOldEngine(engine, environment.log);
  }
  const task = defineTask(
    z.object({ check: z.boolean().default(false) }),
    async ({ input: { check }, tenant, inTenant, reportInTenant, signal, log }) => {
      if (engine === null) return;
      const work = { engine, inTenant, reportInTenant, signal, log };
      try {
        if (check) await reconcile(work, tenant, keySource(search));
        const refused = new Set<string>();
        // What the engine would not build is tried again when it is looked around anyway.
        if (!check)
          for (const { type, error } of await inTenant(readStates))
            if (error !== null) refused.add(type);
        for (;;) {
          signal.throwIfAborted();
          const delivered = await deliver(work);
          const built = await buildStep(work, refused);
          if (delivered === 0 && !built) return;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof SearchEngineError)
          throw new JobPostponed(error.message, awayMs, error);
        if (!(error instanceof SearchRefusedError)) throw error;
        log.error({ reason: error.message }, "the search engine refuses");
        throw new JobPostponed(error.message, refusesMs, error);
      }
    },
  );
  return task(environment);
};
