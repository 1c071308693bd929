import type { LanguageModel } from "ai";
import type { Circuit } from "../health/externalSystems.ts";

/** A configured language model. */
export interface ModelGateway {
  /** For `streamText`. It throws ModelError, or the reason of an abort. */
  model: Exclude<LanguageModel, string>;
  /** The model's name in the settings. */
  name: string;
  /** The state of the circuit breaker. */
  circuit: () => Circuit;
}

/** Why the model did not answer. */
export type ModelProblem = "busy" | "resting" | "slow" | "unreachable" | "refused" | "nonsense";

const messages: Record<ModelProblem, string> = {
  busy: "The language model receives too many requests at the moment. Your question is kept: ask again in a moment.",
  resting:
    "The language model has failed several times in a row; requests are paused. Your question is kept: ask again in a minute.",
  slow: "The language model did not answer in time. Your question is kept: ask again in a moment.",
  unreachable:
    "The language model cannot be reached. Your question is kept: ask again in a moment.",
  refused:
    "The language model rejects this service's requests. Your question is kept; an administrator has to look at the assistant's settings.",
  nonsense: "The language model sent an invalid response. Your question is kept: ask again.",
};

/** The model failed. The message is for users, the cause for the log. */
export class ModelError extends Error {
  override name = "ModelError";
  readonly problem: ModelProblem;

  constructor(problem: ModelProblem, options: { cause?: unknown } = {}) {
    super(messages[problem], options);
    this.problem = problem;
  }
}
