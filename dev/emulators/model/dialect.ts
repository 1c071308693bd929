import type { Answer } from "./answer.ts";
import type { Conversation, ModelProblem } from "./conversation.ts";

/** A protocol of the model. The content of answers does not depend on it. */
export interface Dialect {
  /** @throws ZodError for a request that an endpoint of the protocol refuses */
  read(body: unknown): Conversation;
  /** The chunks of a streamed answer. */
  chunks(answer: Answer): Iterable<string>;
  /** A chunk of a stream. */
  chunk(data: object): string;
  /** An error, as a response or as a chunk. */
  problem(problem: ModelProblem): object;
}
