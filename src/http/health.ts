import { setTimeout } from "node:timers/promises";
import { Router } from "express";
import type { Pool } from "pg";

/** A balancer has its answer after so many milliseconds at most, also where the database is silent. */
const readyMs = 2_000;

/**
 * `/healthz`: the process is alive. `/readyz`: it can serve, database included; 503 while it stops, so that a load balancer
 * sends nothing more.
 */
export function health(pool: Pool, state: { stopping: boolean }): Router {
  const router = Router();
  const question = { text: "select 1", query_timeout: readyMs };
  let asking: Promise<boolean> | undefined;
  // Those who ask meanwhile share one connection; it is given up when the database stays silent.
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
    // At once, whatever the database does: balancers have little time to look away.
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
