import { type Router as ExpressRouter, Router } from "express";
import type { RuruClientConfig } from "ruru/server";

const staticPath = "/ruru-static/";

const firstOperations = `# The button offers each operation by name.
# 1. The first user becomes Superadmin.
mutation FirstUser {
  bootstrapFirstUser(email: "you@example.com") {
    token
  }
}

# Later, this logs you in again.
mutation LogIn {
  devLogin(email: "you@example.com") {
    token
  }
}

# 2. Copy the token to the Headers tab below.
query Me {
  me {
    email
    roles {
      name
    }
  }
}

query Products {
  products(query: "italy vintage:>=2015", first: 5, includeTotalCount: true) {
    totalCount
    nodes {
      erpProductNumber
      name
      vintage
    }
  }
}
`;
const headerTemplate = `{
  // Paste your token and uncomment:
  // "Authorization": "Bearer bos_..."
}
`;

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
    const page = server.ruruHTML({
      endpoint: "/graphql",
      staticPath,
      // Its type asks for all settings, since the types of React are not installed; the page needs none.
      clientConfig: {
        defaultQuery: firstOperations,
        defaultHeaders: headerTemplate,
      } as RuruClientConfig,
    });
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
