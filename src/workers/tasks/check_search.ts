import { z } from "zod";
import { defineTask } from "../queue/task.ts";

/** Has the search engine looked at, in the queue of those who write to it. */
export const checkSearch = defineTask(z.strictObject({}), async ({ inTenant, config }) => {
  if (config.search.nodes === undefined) return;
  await inTenant((client) => client.query("select queue_search_indexing(true)"));
});
