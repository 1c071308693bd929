import { type Router as ExpressRouter, Router } from "express";

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
 * Serves GraphiQL at `GET /graphql`. Null when its package is not installed: it is a development dependency, as large
 * as all production dependencies together.
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
      // The type requires all settings, since React's types are not installed; the page needs only these.
      clientConfig: {
        defaultQuery: firstOperations,
        defaultHeaders: headerTemplate,
      },
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
