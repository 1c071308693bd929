import { createServer } from "node:http";
import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import express from "express";
import pg from "pg";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

// PostGraphile with default settings, as the owner of the same tables: no login, no policies, no audit of reads.
const pool = new pg.Pool({
  connectionString: process.argv[2],
  max: 10,
  options: "-c search_path=backoffice,extensions",
});
const instance = postgraphile({
  extends: [PostGraphileAmberPreset, PgSimplifyInflectionPreset],
  disablePlugins: ["NodePlugin"],
  pgServices: [makePgService({ pool, schemas: ["backoffice"] })],
  // Without our functions, whose fields would collide with its own.
  schema: {
    defaultBehavior: "+list +connection -queryField -mutationField -typeField",
    pgOmitListSuffix: true,
  },
  grafserv: { graphqlPath: "/graphql", graphiql: false, websockets: false },
});
const app = express();
const server = createServer(app);
await instance.createServ(grafserv).addTo(app, server, false);
server.keepAliveTimeout = 65_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address)
    process.send?.({ url: `http://127.0.0.1:${address.port}/graphql` });
});
process.on("disconnect", () => process.exit());
if (process.argv.includes("--print")) {
  const { printSchema } = await import("graphql");
  console.log(printSchema(await instance.getSchema()));
}
