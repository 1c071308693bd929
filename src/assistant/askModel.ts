import {
  type ModelMessage,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
  ToolChoiceViolationError,
  asSchema,
  convertToModelMessages,
  stepCountIs,
  streamText,
} from "ai";
import type { ModelGateway } from "../gateways/model.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import { type Spent, costsOf, spentOn, tokensFor } from "./budget.ts";
import type { LimitReached } from "./finishReason.ts";
import { systemPrompt } from "./prompt.ts";

/** How long what is left of an answer is waited for, once it is to end. */
const graceMs = 500;
/** A model that writes more for each token that it may write does not keep to it. */
const charactersPerToken = 12;
/** Texts and uses of tools of one answer: putting it together costs the square of their number. */
const mostParts = 300;

interface AskOptions {
  config: AssistantConfig;
  model: ModelGateway;
  tools: ToolSet;
  messages: readonly UIMessage[];
  /** The message that the answer goes on with; null for one of its own. */
  base: UIMessage | null;
  messageId: string;
  signal: AbortSignal;
  /** Holds an amount for a question, or what is left of it for today; null when that is less than the least. */
  reserve: (least: number, wanted: number) => Promise<number | null>;
  /** Takes down what a step used up, in place of what was held for it. */
  onSpent: (spent: Spent) => Promise<void>;
  onBound: (bound: LimitReached) => void;
  /** Told when the model writes on beyond all bounds: the answer is to be ended. */
  onFlood: () => void;
  onError: (error: unknown) => void;
  publicMessage: (error: unknown) => string;
}

/** Asks the model, as often as its use of tools takes and the bounds allow, and gives what it says piece by piece. */
export async function* askModel(options: AskOptions): AsyncGenerator<UIMessageChunk> {
  const { config, model, tools, base, signal, reserve, onSpent, onBound } = options;
  const messages = await convertToModelMessages([...options.messages], {
    tools,
    ignoreIncompleteToolCalls: true,
  });
  const system = systemPrompt(new Date());
  const always = system.length + (await lengthOfTools(tools));
  let outputTokens = 0;
  let written = 0;
  let parts = 0;
  let read = 0;
  let isOpen = false;
  /** Whether what may be spent today bounds the step, and not what one answer may have. */
  let isShort = false;
  let isUsedUp = false;

  const spend = async (usage: Parameters<typeof spentOn>[0]) => {
    const spent = spentOn(usage, { read, written }, config);
    [isOpen, written] = [false, 0];
    outputTokens += spent.outputTokens;
    await onSpent(spent);
  };
  /** That the next question cannot be asked matters only where there would be one. */
  const isToStop = () => {
    const isBounded = outputTokens >= config.maxOutputTokens;
    if (isBounded) onBound("tokens");
    return isBounded;
  };
  /** How many tokens may be written; what they cost is held until it is known what they did. */
  const allow = async (characters: number): Promise<number> => {
    const left = Math.max(1, config.maxOutputTokens - outputTokens);
    const costs = costsOf(characters, left, config);
    const granted = await reserve(costs.least, costs.most);
    if (granted === null) {
      isUsedUp = true;
      throw new Error("What may be spent today is used up");
    }
    // Amounts are kept to a millionth; one that is whole is not taken apart again.
    isShort = granted < Number(costs.most.toFixed(6));
    const affordable = isShort ? tokensFor(granted - costs.input, config) : left;
    return Math.max(1, Math.min(left, affordable));
  };

  const result = streamText({
    model: model.model,
    system,
    messages,
    tools,
    maxRetries: 0,
    abortSignal: signal,
    stopWhen: [stepCountIs(config.maxSteps), isToStop],
    prepareStep: async ({ steps, messages: given }) => {
      const characters = always + lengthOf(given);
      const maxOutputTokens = await allow(characters);
      [isOpen, read] = [true, characters];
      return {
        maxOutputTokens,
        // The last time is for words.
        ...(steps.length === config.maxSteps - 1 ? { toolChoice: "none" as const } : {}),
      };
    },
    onStepFinish: async ({ usage, finishReason }) => {
      await spend(usage);
      if (isShort && finishReason === "length") onBound("cost");
    },
    onError: ({ error }) => {
      if (isUsedUp) onBound("cost");
      else if (ToolChoiceViolationError.isInstance(error)) onBound("steps");
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
      if (done || (value.type === "error" && isUsedUp)) break;
      if (value.type === "text-delta") written += value.delta.length;
      if (value.type === "tool-input-delta") written += value.inputTextDelta.length;
      if (value.type === "text-start" || value.type === "tool-input-start") parts++;
      if (written > config.maxOutputTokens * charactersPerToken || parts > mostParts)
        options.onFlood();
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

/** Characters of what the model is told of the tools, each time. */
async function lengthOfTools(tools: ToolSet): Promise<number> {
  const told = Object.entries(tools).map(async ([name, { description, inputSchema }]) =>
    JSON.stringify([name, description, await asSchema(inputSchema).jsonSchema]),
  );
  return (await Promise.all(told)).join().length;
}
