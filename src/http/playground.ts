import { type Router as ExpressRouter, Router } from "express";

const staticPath = "/ruru-static/";

/**
 * The routes of GraphiQL at `GET /graphql`, or null where its package is not installed: it is a development dependency,
 * because it weighs as much as everything that production installs.
 */
export async function loadPlayground(): Promise<ExpressRouter | null> {
  try {
    const [server, { serveStatic }] = await Promise.all([
      import("ruru/server"),
      import("ruru/static"),
    ]);
    const page = server.ruruHTML({ endpoint: "/graphql", staticPath });
    const router = Router();
    router.get("/graphql", (_request, response) => {
      response.type("html").send(page);
    });
    router.use(serveStatic(staticPath));
    return router;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")
      return null;
    throw error;
  }
}
