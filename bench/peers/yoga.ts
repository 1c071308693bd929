import { createServer } from "node:http";
import { createSchema, createYoga } from "graphql-yoga";
import { loaderContext, loadingResolvers, type LoaderContext } from "../compare/dataLoaders.ts";
import { typeDefs } from "../compare/handWritten.ts";

// GraphQL Yoga with DataLoader and its default caches of parsed and validated documents.
const yoga = createYoga<object, LoaderContext>({
  schema: createSchema({ typeDefs, resolvers: loadingResolvers as never }),
  context: loaderContext,
  graphiql: false,
  landingPage: false,
  logging: "warn",
});
const server = createServer((request, response) => void yoga(request, response));
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address)
    process.send?.({ url: `http://127.0.0.1:${address.port}${yoga.graphqlEndpoint}` });
});
process.on("disconnect", () => process.exit());
