import type { Completion, IdPrefixes } from "./completion.ts";
import type { Conversation } from "./conversation.ts";
import type { ModelProblem } from "./problem.ts";

/** An event of a stream; `event` is set where the protocol names its events. */
export interface Frame {
  event?: string;
  data: object;
}

/** Options of a streamed answer. */
export interface FrameOptions {
  withUsage: boolean;
  /** Whether the text never ends. */
  isEndless: boolean;
}

/** A protocol of the model. The content of answers does not depend on it. */
export interface Dialect {
  ids: IdPrefixes;
  /**
   * Reads a request.
   * @throws ModelProblem with status 400 that names the error, as an endpoint of the protocol does
   */
  read(text: string): Conversation;
  /** The events of a streamed answer. */
  frames(answer: Completion, options: FrameOptions): Iterable<Frame>;
  /** The text after the last event of a stream. */
  terminator: string;
  /** The response body of an answer that is not streamed. */
  whole(answer: Completion): { usage: object };
  problem(problem: ModelProblem): object;
  /** An error event within a stream. */
  problemFrame(problem: ModelProblem): Frame;
}
