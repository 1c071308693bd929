import { setTimeout } from "node:timers/promises";
import { Router } from "express";
import type { Pool } from "pg";

/** Time limit of the readiness check, also when the database does not respond, in milliseconds. */
const readyMs = 2_000;

/**
 * `/healthz`: the process is alive. `/readyz`: it can serve, database included; 503 during a shutdown, so that load
 * balancers send nothing more.
 */
export function health(pool: Pool, state: { stopping: boolean }): Router {
  const router = Router();
  const question = { text: "select 1", query_timeout: readyMs };
  let asking: Promise<boolean> | undefined;
  // Concurrent checks share one query.
  const isAnswering = () =>
    (asking ??= pool
      .query(question)
      .then(
        () => true,
        () => false,
      )
      .finally(() => (asking = undefined)));
  router.get("/healthz", (_request, response) => {
    response.setHeader("Cache-Control", "no-store").json({ status: "ok" });
  });
  router.get("/readyz", async (_request, response) => {
    response.setHeader("Cache-Control", "no-store");
    // Without waiting for the database: load balancers must notice in time.
    if (state.stopping) {
      response.status(503).json({ status: "not ready", stopping: true });
      return;
    }
    const late = setTimeout(readyMs, false, { ref: false });
    const isReady = await Promise.race([isAnswering(), late]);
    response.status(isReady ? 200 : 503).json({
      status: isReady ? "ok" : "not ready",
      database: isReady ? "ok" : "unreachable",
      stopping: false,
    });
  });
  return router;
}
