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
import { boundModelResponse } from "./boundModelResponse.ts";
import { circuitOf } from "../health/circuitOf.ts";
import type { ModelGateway } from "./model.ts";
import { ModelError } from "./model.ts";
import { beginStream, toModelError } from "./modelStream.ts";

// Consecutive failures that open the circuit.
const failuresToOpen = 5;
const halfOpenAfterMs = 15_000;
/** Retries of a call that failed before its response began. */
const attempts = 1;

// The library writes warnings for developers to the console.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The configured language model, or null when none is configured. Sends no request. */
export function makeModelGateway(config: AssistantConfig): ModelGateway | null {
  const { model: name, silenceTimeoutMs } = config;
  if (name === undefined) return null;
  const breaker = circuitBreaker(handleWhen(isFailure), {
    halfOpenAfter: halfOpenAfterMs,
    breaker: new ConsecutiveBreaker(failuresToOpen),
  });
  const again = retry(handleWhen(isTemporary), {
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
                idleTimeoutMs: silenceTimeoutMs,
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

/** Whether the model failed, as opposed to an invalid request or a rate limit. */
function isFailure(error: unknown): boolean {
  return error instanceof ModelError && !["busy", "refused"].includes(error.problem);
}

/** Whether the same call may succeed a moment later. */
function isTemporary(error: unknown): boolean {
  return error instanceof ModelError && error.problem === "unreachable";
}

function makeModel({ provider, baseUrl, apiKey }: AssistantConfig, name: string) {
  // A redirect would send the key and the conversation to another address.
  const boundedFetch: typeof fetch = async (input, init) =>
    boundModelResponse(await fetch(input, { ...init, redirect: "error" }));
  const common = {
    fetch: boundedFetch,
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
  // Set here, so that the library reads no environment variable for it.
  if (provider === "anthropic")
    return createAnthropic({ baseURL: "https://api.anthropic.com/v1", ...common })(name);
  return createOpenAICompatible({
    baseURL: "",
    ...common,
    name: "model",
    includeUsage: true,
  })(name);
}
