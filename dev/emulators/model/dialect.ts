import type { Completion, IdPrefixes } from "./completion.ts";
import type { Conversation } from "./conversation.ts";
import type { ModelProblem } from "./problem.ts";

/** A message of a stream: its event, where the dialect names them, and its data. */
export interface Frame {
  event?: string;
  data: object;
}

/** How the pieces of an answer are to come. */
export interface FrameOptions {
  withUsage: boolean;
  /** Words without end. */
  isEndless: boolean;
}

/** A protocol of requests to the model. The answers do not depend on it. */
export interface Dialect {
  ids: IdPrefixes;
  /**
   * Reads a request.
   * @throws ModelProblem with status 400 that names what is wrong, as an endpoint of the protocol does
   */
  read(text: string): Conversation;
  /** The pieces of an answer as they are streamed. */
  frames(answer: Completion, options: FrameOptions): Iterable<Frame>;
  /** What stands behind the last piece of a stream. */
  last: string;
  /** The answer in one, for those who do not want a stream. */
  whole(answer: Completion): { usage: object };
  problem(problem: ModelProblem): object;
  /** An error event within a stream. */
  problemFrame(problem: ModelProblem): Frame;
}
