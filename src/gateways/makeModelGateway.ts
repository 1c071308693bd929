import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { wrapLanguageModel } from "ai";
import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  ExponentialBackoff,
  circuitBreaker,
  handleWhen,
  retry,
  wrap,
} from "cockatiel";
import type { AssistantConfig } from "../settings/assistant.ts";
import { circuitOf } from "../health/circuitOf.ts";
import type { ModelGateway } from "./model.ts";
import { ModelError } from "./model.ts";
import { beginStream, toModelError } from "./modelStream.ts";

// So many questions without an answer, one after the other, and the model is left alone for a while.
const failuresToRest = 5;
const restMs = 15_000;
/** A call that failed before its answer began is made once more. */
const attempts = 1;

// The library writes hints for developers to the console.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The language model that the settings name; null without one. Nothing is asked of it yet. */
export function makeModelGateway(config: AssistantConfig): ModelGateway | null {
  const { model: name, silenceTimeoutMs } = config;
  if (name === undefined) return null;
  const breaker = circuitBreaker(handleWhen(isFailure), {
    halfOpenAfter: restMs,
    breaker: new ConsecutiveBreaker(failuresToRest),
  });
  const again = retry(handleWhen(isPassing), {
    maxAttempts: attempts,
    backoff: new ExponentialBackoff({ initialDelay: 200, maxDelay: 2_000 }),
  });
  const policy = wrap(again, breaker);
  const model = wrapLanguageModel({
    model: makeModel(config, name),
    middleware: {
      specificationVersion: "v3",
      async wrapStream({ params, model }) {
        const caller = params.abortSignal ?? new AbortController().signal;
        try {
          return await policy.execute(
            () =>
              beginStream((abortSignal) => model.doStream({ ...params, abortSignal }), {
                signal: caller,
                silenceMs: silenceTimeoutMs,
              }),
            caller,
          );
        } catch (error) {
          caller.throwIfAborted();
          if (error instanceof BrokenCircuitError)
            throw new ModelError("resting", { cause: error });
          throw toModelError(error);
        }
      },
    },
  });
  return { model, name, circuit: () => circuitOf(breaker) };
}

/** Whether the model is to blame, and not the question or how often it was asked. */
function isFailure(error: unknown): boolean {
  return error instanceof ModelError && !["busy", "refused"].includes(error.problem);
}

/** Whether the same call may well succeed a moment later. */
function isPassing(error: unknown): boolean {
  return error instanceof ModelError && error.problem === "unreachable";
}

function makeModel({ provider, baseUrl, apiKey }: AssistantConfig, name: string) {
  // A redirect would take the key and the conversation elsewhere.
  const straight: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
  const common = {
    fetch: straight,
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl.replace(/\/+$/, "") }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  // Said here, so that the library asks no variable of its own for it.
  if (provider === "anthropic")
    return createAnthropic({ baseURL: "https://api.anthropic.com/v1", ...common })(name);
  return createOpenAICompatible({
    baseURL: "",
    ...common,
    name: "model",
    includeUsage: true,
  })(name);
}
