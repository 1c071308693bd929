import type { z } from "zod";

/** A read-only tool: one GraphQL query, run as the caller without approval. */
export interface ReadTool {
  description: string;
  input: z.ZodObject;
  operation: string;
  /** Maps the input to the query's variables; by default the input itself. */
  variables?(input: Record<string, unknown>): Record<string, unknown>;
  /** Runs the query as often as needed; by default once, with the variables above. */
  find?(
    ask: (variables: object) => Promise<Record<string, unknown>>,
    input: Record<string, unknown>,
  ): Promise<Record<string, unknown>>;
}
