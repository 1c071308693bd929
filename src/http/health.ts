import { Router } from "express";
import type { Pool } from "pg";

/**
 * `/healthz`: the process is alive. `/readyz`: it can serve, database included; 503 while it stops, so that a load balancer
 * sends nothing more.
 */
export function health(pool: Pool, state: { stopping: boolean }): Router {
  const router = Router();
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
    const database = await pool.query("select 1").then(
      () => "ok",
      () => "unreachable",
    );
    const ready = database === "ok";
    response
      .status(ready ? 200 : 503)
      .json({ status: ready ? "ok" : "not ready", database, stopping: false });
  });
  return router;
}
