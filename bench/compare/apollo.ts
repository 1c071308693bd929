import { ApolloServer } from "@apollo/server";
import { startStandaloneServer } from "@apollo/server/standalone";
import { loaderContext, loadingResolvers, type LoaderContext } from "./dataLoaders.ts";
import { typeDefs } from "./handWritten.ts";

// Apollo Server with DataLoader.
const server = new ApolloServer<LoaderContext>({
  typeDefs,
  resolvers: loadingResolvers as never,
  includeStacktraceInErrorResponses: false,
});
const { url } = await startStandaloneServer(server, {
  listen: { port: 0, host: "127.0.0.1" },
  context: () => Promise.resolve(loaderContext()),
});
process.send?.({ url });
process.on("disconnect", () => process.exit());
