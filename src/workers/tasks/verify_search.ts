import { z } from "zod";
import { makeTypesense } from "../../gateways/typesense.ts";
import { readStates } from "../../search/state.ts";
import { verifyCollection } from "../../search/verify.ts";
import type { TaskDefinition } from "../queue/defineTask.ts";
import { defineTask } from "../queue/defineTask.ts";

/** Compares the search engine's documents with the database, and queues differing rows for delivery. */
export const verifySearch: TaskDefinition = (environment) => {
  const engine = makeTypesense(environment.config.search);
  return defineTask(z.strictObject({}), async ({ inTenant, signal, log }) => {
    if (engine === null) return;
    for (const state of await inTenant(readStates)) {
      signal.throwIfAborted();
      const { version, collection } = state;
      if (version === null || state.definition === null) continue;
      const { different, ...found } = await verifyCollection(engine, inTenant, {
        ...state,
        version,
      });
      if (different.length === 0) log.info({ collection, ...found }, "search collection verified");
      else
        log.error(
          { collection, ...found, different: different.length },
          "search rows differ; queued for delivery",
        );
    }
  })(environment);
};
