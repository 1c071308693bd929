import { z } from "zod";
import { makeTypesense } from "../../gateways/typesense.ts";
import { readStates } from "../../search/state.ts";
import { verify } from "../../search/verify.ts";
import type { TaskDefinition } from "../queue/task.ts";
import { defineTask } from "../queue/task.ts";

/** Compares what the search engine holds with the database, and has the engine told again of what differs. */
export const verifySearch: TaskDefinition = (environment) => {
  const engine = makeTypesense(environment.config.search);
  return defineTask(z.strictObject({}), async ({ inTenant, signal, log }) => {
    if (engine === null) return;
    for (const state of await inTenant(readStates)) {
      signal.throwIfAborted();
      const { version, collection } = state;
      if (version === null || state.definition === null) continue;
      const { different, ...found } = await verify(engine, inTenant, { ...state, version });
      if (different.length === 0) log.info({ collection, ...found }, "the search engine agrees");
      else
        log.error(
          { collection, ...found, different: different.length },
          "the search engine had rows wrong: it is told of them again",
        );
    }
  })(environment);
};
