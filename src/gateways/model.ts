import type { LanguageModel } from "ai";
import type { Circuit } from "../health/externalSystems.ts";

/** A language model that is configured. */
export interface ModelGateway {
  /** For `streamText`; what it throws is ModelError, but for the reason of an abort. */
  model: Exclude<LanguageModel, string>;
  /** As the settings call it. */
  name: string;
  /** Whether questions are let through at present. */
  circuit: () => Circuit;
}

/** Why the model gives no answer. */
export type ModelProblem = "busy" | "resting" | "slow" | "unreachable" | "refused" | "nonsense";

const messages: Record<ModelProblem, string> = {
  busy: "The language model is asked by too many just now. Your question is kept: ask again in a moment.",
  resting:
    "The language model has failed several times in a row and is left alone for a while. Your question is kept: ask again in a minute.",
  slow: "The language model did not answer in time. Your question is kept: ask again in a moment.",
  unreachable:
    "The language model cannot be reached just now. Your question is kept: ask again in a moment.",
  refused:
    "The language model refuses this service's requests. Your question is kept; an administrator has to look at the assistant's settings.",
  nonsense:
    "The language model sent an answer that cannot be understood. Your question is kept: ask again.",
};

/** The model does not do its part; the message is for people, the cause for the log. */
export class ModelError extends Error {
  override name = "ModelError";
  readonly problem: ModelProblem;

  constructor(problem: ModelProblem, options: { cause?: unknown } = {}) {
    super(messages[problem], options);
    this.problem = problem;
  }
}
