import { z } from "zod";
import { defineTask } from "../queue/defineTask.ts";

/** Queues a check of the search engine. */
export const checkSearch = defineTask(z.strictObject({}), async ({ inTenant, config }) => {
  if (config.search.nodes === undefined) return;
  await inTenant((client) => client.query("select queue_search_indexing(true)"));
});
