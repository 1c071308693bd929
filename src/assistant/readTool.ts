import type { z } from "zod";

/** A tool that looks something up: one GraphQL query, run at once in the caller's name. */
export interface ReadTool {
  description: string;
  input: z.ZodObject;
  operation: string;
  /** The operation's variables; the input itself when left out. */
  variables?(input: Record<string, unknown>): Record<string, unknown>;
  /** Looks up by asking the operation, with variables, as often as it takes; once with those above when left out. */
  find?(
    ask: (variables: object) => Promise<Record<string, unknown>>,
    input: Record<string, unknown>,
  ): Promise<Record<string, unknown>>;
}
