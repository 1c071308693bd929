import type { GraphQLSchema } from "graphql";
import { type PostGraphileInstance, postgraphile } from "postgraphile";
import { type PresetOptions, makePreset } from "../graphile.config.ts";
import { type Documents, makeDocuments } from "../graphql/documents.ts";
import { makeServingPlugin } from "../plugins/ServingPlugin.ts";

/** The GraphQL API: PostGraphile, its schema, and the cache of parsed documents. */
export interface Api {
  graphile: PostGraphileInstance;
  schema: GraphQLSchema;
  documents: Documents;
}

/** Builds the GraphQL schema from the database's catalogue. */
export async function buildSchema(options: PresetOptions): Promise<Api> {
  const documents = makeDocuments(() => schema, options.config);
  const graphile = postgraphile({
    extends: [makePreset(options)],
    plugins: [makeServingPlugin(documents)],
  });
  const schema = await graphile.getSchema();
  return { graphile, schema, documents };
}
