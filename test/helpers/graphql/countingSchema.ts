import { buildSchema, parse } from "graphql";
import { PublicError } from "../../../src/errors/PublicError.ts";
import { type DocumentLimits, checkDocument } from "../../../src/graphql/queryComplexity.ts";

/** A schema with every construct that counts: pages, lists, an interface, and a field that takes any literal. */
export const countingSchema = buildSchema(`
  interface Thing { id: ID! parts(first: Int): [Thing!]! }
  type Query implements Thing {
    id: ID!
    me: Query
    parts(first: Int): [Thing!]!
    roles: [Query!]!
    pages(first: Int, last: Int, offset: Int): Pages!
    take(a: Any): Int
  }
  type Pages { nodes: [Query!]! edges: [Edge!]! totalCount: Int }
  type Edge { node: Query }
  type Mutation { add: Query }
  scalar Any
`);
const roomy: DocumentLimits = {
  depth: 1_000,
  aliases: 1_000,
  fields: 10_000,
  rootFields: 1_000,
  cost: 1e9,
};

/** The message with which a document is refused; null if it passes. */
export function refusal(query: string, limits: Partial<DocumentLimits> = {}): string | null {
  try {
    checkDocument(parse(query), countingSchema, { ...roomy, ...limits });
    return null;
  } catch (error) {
    if (error instanceof PublicError && error.code === "BAD_USER_INPUT") return error.message;
    throw error;
  }
}
