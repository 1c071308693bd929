import Fastify from "fastify";
import mercurius from "mercurius";
import { gathered, resolvers, type Row, typeDefs } from "./handWritten.ts";

// Mercurius with its loaders and compiled queries.
const app = Fastify({ keepAliveTimeout: 65_000 });
await app.register(mercurius, {
  schema: typeDefs,
  jit: 1,
  resolvers,
  loaders: Object.fromEntries(
    Object.entries(gathered).map(([type, fields]) => [
      type,
      Object.fromEntries(
        Object.entries(fields).map(([field, { by, load }]) => [
          field,
          (queries: { obj: Row }[]) => load(queries.map(({ obj }) => obj[by])),
        ]),
      ),
    ]),
  ),
});
const url = await app.listen({ port: 0, host: "127.0.0.1" });
process.send?.({ url: `${url}/graphql` });
process.on("disconnect", () => process.exit());
