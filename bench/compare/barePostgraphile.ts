import { createServer } from "node:http";
import { PgSimplifyInflectionPreset } from "@graphile/simplify-inflection";
import express from "express";
import pg from "pg";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/express/v4";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";
import { jsonPgSmartTags } from "postgraphile/utils";

// PostGraphile with default settings, as the owner of the same tables: no login, no policies, no audit of reads.
const pool = new pg.Pool({
  connectionString: process.argv[2],
  max: 10,
  options: "-c search_path=backoffice,extensions",
});
// Its name for the column `id` is `rowId` as well, and with two of them it leaves out most root fields.
const renamed = { tags: { name: "changedRowId" } };
const tags = jsonPgSmartTags({
  version: 1,
  config: {
    attribute: {
      "backoffice.search_watch_notices.row_id": renamed,
      "backoffice.row_changes.row_id": renamed,
    },
  },
});
const instance = postgraphile({
  extends: [PostGraphileAmberPreset, PgSimplifyInflectionPreset],
  disablePlugins: ["NodePlugin"],
  plugins: [tags],
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
