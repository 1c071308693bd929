import {
  type ModelMessage,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
  ToolChoiceViolationError,
  convertToModelMessages,
  stepCountIs,
  streamText,
} from "ai";
import type { ModelGateway } from "../gateways/model.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import { type Spent, spentOn } from "./budget.ts";
import type { Bound } from "./ending.ts";
import { systemPrompt } from "./prompt.ts";

/** How long what is left of an answer is waited for, once it is to end. */
const graceMs = 500;
/** A model that writes more for each token that it may write does not keep to it. */
const charactersPerToken = 12;

interface AskOptions {
  config: AssistantConfig;
  model: ModelGateway;
  tools: ToolSet;
  messages: readonly UIMessage[];
  /** The message that the answer goes on with; null for one of its own. */
  base: UIMessage | null;
  messageId: string;
  signal: AbortSignal;
  /** Takes down what a step used up; returns what the caller has spent today. */
  onSpent: (spent: Spent) => Promise<number>;
  onBound: (bound: Bound) => void;
  /** Told when the model writes on beyond all bounds: the answer is to be ended. */
  onFlood: () => void;
  onError: (error: unknown) => void;
  publicMessage: (error: unknown) => string;
}

/** Asks the model, as often as its use of tools takes and the bounds allow, and gives what it says piece by piece. */
export async function* askModel(options: AskOptions): AsyncGenerator<UIMessageChunk> {
  const { config, model, tools, base, signal, onSpent, onBound } = options;
  const messages = await convertToModelMessages([...options.messages], {
    tools,
    ignoreIncompleteToolCalls: true,
  });
  let outputTokens = 0;
  let written = 0;
  let read = 0;
  let isOpen = false;
  let isBounded = false;

  const spend = async (usage: Parameters<typeof spentOn>[0]) => {
    const spent = spentOn(usage, { read, written }, config);
    [isOpen, written] = [false, 0];
    outputTokens += spent.outputTokens;
    const today = await onSpent(spent);
    isBounded = outputTokens >= config.maxOutputTokens || today >= config.dailyCost;
  };
  /** That the next question cannot be asked matters only where there would be one. */
  const isToStop = () => {
    if (isBounded) onBound(outputTokens >= config.maxOutputTokens ? "tokens" : "cost");
    return isBounded;
  };

  const result = streamText({
    model: model.model,
    system: systemPrompt(new Date()),
    messages,
    tools,
    maxRetries: 0,
    abortSignal: signal,
    stopWhen: [stepCountIs(config.maxSteps), isToStop],
    prepareStep: ({ steps, messages: given }) => {
      [isOpen, read] = [true, lengthOf(given)];
      return {
        maxOutputTokens: Math.max(1, config.maxOutputTokens - outputTokens),
        // The last time is for words.
        ...(steps.length === config.maxSteps - 1 ? { toolChoice: "none" as const } : {}),
      };
    },
    onStepFinish: ({ usage }) => spend(usage),
    onError: ({ error }) => {
      if (ToolChoiceViolationError.isInstance(error)) onBound("steps");
      else options.onError(error);
    },
  });
  const reader = result
    .toUIMessageStream({
      sendReasoning: false,
      sendSources: false,
      originalMessages: base ? [base] : [],
      generateMessageId: () => options.messageId,
      onError: options.publicMessage,
    })
    .getReader();
  const { promise: late, resolve } = Promise.withResolvers<{ done: true; value: undefined }>();
  signal.addEventListener("abort", () => {
    setTimeout(resolve, graceMs, { done: true, value: undefined });
  });
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      if (value.type === "text-delta") written += value.delta.length;
      if (value.type === "tool-input-delta") written += value.inputTextDelta.length;
      if (written > config.maxOutputTokens * charactersPerToken) options.onFlood();
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
    // What the model was asked and has not finished answering is paid for as well.
    if (isOpen && (written > 0 || signal.aborted)) await spend(null);
  }
}

/** Characters of what the model is given; pictures and documents count as a page of text. */
function lengthOf(messages: readonly ModelMessage[]): number {
  const pageOf = (_key: string, value: unknown) =>
    typeof value === "string" && value.startsWith("data:") ? "x".repeat(4_000) : value;
  return JSON.stringify(messages, pageOf).length;
}
