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
import { BudgetUsedUpError, type StepUsage, costRange, usageOf, tokensFor } from "./budget.ts";
import type { LimitReached } from "./finishReason.ts";
import { type Region, systemPrompt } from "./prompt.ts";

/** What a picture or a document counts as. */
const charactersPerPage = 4_000;
/** How long the rest of a stopped answer is awaited. */
const graceMs = 500;
/** Above this ratio of characters to allowed tokens, the model ignores its limit. */
const charactersPerToken = 12;
/** Limits text parts and tool calls in an answer, because assembling them takes quadratic time. */
const maxParts = 300;

interface AskOptions {
  config: AssistantConfig;
  model: ModelGateway;
  tools: ToolSet;
  messages: readonly UIMessage[];
  /** The message that is continued; null for a new one. */
  base: UIMessage | null;
  messageId: string;
  signal: AbortSignal;
  /** The time zone and locale of the user. */
  region: Region;
  /** Reserves an amount for a step, or the rest of today's budget; null when less than `least` remains. */
  reserve: (least: number, wanted: number) => Promise<number | null>;
  /** Records the cost of a step and releases its reservation. */
  onUsage: (spent: StepUsage) => Promise<void>;
  onLimit: (bound: LimitReached) => void;
  /** Called when the model exceeds its limit; the answer must be stopped. */
  onOverrun: () => void;
  onError: (error: unknown) => void;
  publicMessage: (error: unknown) => string;
}

/** Calls the model repeatedly, as its tool calls require and the limits allow, and yields its output. */
export async function* askModel(options: AskOptions): AsyncGenerator<UIMessageChunk> {
  const { config, model, tools, base, signal, reserve, onUsage, onLimit } = options;
  const messages = await convertToModelMessages([...options.messages], {
    tools,
    ignoreIncompleteToolCalls: true,
  });
  const system = systemPrompt(new Date(), options.region);
  const always = system.length + (await lengthOfTools(tools));
  let outputTokens = 0;
  let written = 0;
  let parts = 0;
  let read = 0;
  let isOpen = false;
  /** Whether the daily budget limits the step, and not the limit per answer. */
  let isBudgetLimited = false;
  let isBudgetUsedUp = false;

  const spend = async (usage: Parameters<typeof usageOf>[0]) => {
    const spent = usageOf(usage, { read, written }, config);
    [isOpen, written] = [false, 0];
    outputTokens += spent.outputTokens;
    await onUsage(spent);
  };
  /** Called only when another step is needed, so a complete answer never reports the limit. */
  const shouldStop = () => {
    const isBounded = outputTokens >= config.maxOutputTokens;
    if (isBounded) onLimit("tokens");
    return isBounded;
  };
  /** Returns how many tokens the step may write, and reserves their cost. */
  const allow = async (characters: number): Promise<number> => {
    const left = Math.max(1, config.maxOutputTokens - outputTokens);
    const costs = costRange(characters, left, config);
    const granted = await reserve(costs.least, costs.most);
    if (granted === null) {
      isBudgetUsedUp = true;
      throw new BudgetUsedUpError();
    }
    // Amounts are stored with six decimals; rounding must not make a full grant look short.
    isBudgetLimited = granted < Number(costs.most.toFixed(6));
    const affordable = isBudgetLimited ? tokensFor(granted - costs.input, config) : left;
    return Math.max(1, Math.min(left, affordable));
  };

  const result = streamText({
    model: model.model,
    system,
    messages,
    tools,
    maxRetries: 0,
    abortSignal: signal,
    stopWhen: [stepCountIs(config.maxSteps), shouldStop],
    prepareStep: async ({ steps, messages: given }) => {
      const characters = always + lengthOf(given);
      const maxOutputTokens = await allow(characters);
      [isOpen, read] = [true, characters];
      return {
        maxOutputTokens,
        // The last step may not call tools.
        ...(steps.length === config.maxSteps - 1 ? { toolChoice: "none" as const } : {}),
      };
    },
    onStepFinish: async ({ usage, finishReason }) => {
      await spend(usage);
      if (isBudgetLimited && finishReason === "length") onLimit("cost");
    },
    onError: ({ error }) => {
      if (isBudgetUsedUp) onLimit("cost");
      else if (ToolChoiceViolationError.isInstance(error)) onLimit("steps");
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
      if (done || (value.type === "error" && isBudgetUsedUp)) break;
      if (value.type === "text-delta") written += value.delta.length;
      if (value.type === "tool-input-delta") written += value.inputTextDelta.length;
      if (value.type === "text-start" || value.type === "tool-input-start") parts++;
      if (written > config.maxOutputTokens * charactersPerToken || parts > maxParts)
        options.onOverrun();
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
    // An unfinished step is charged too.
    if (isOpen && (written > 0 || signal.aborted)) await spend(null);
  }
}

/** The number of characters in the model's input; each picture or document counts as a page of text. */
function lengthOf(messages: readonly ModelMessage[]): number {
  return messages.reduce((sum, { content }) => {
    if (typeof content === "string") return sum + content.length;
    const [files, others] = [content.filter(isFile), content.filter((part) => !isFile(part))];
    return sum + JSON.stringify(others).length + files.length * charactersPerPage;
  }, 0);
}

const isFile = ({ type }: { type: string }): boolean => type === "file" || type === "image";

/** The number of characters in the tool definitions, which are part of each request. */
async function lengthOfTools(tools: ToolSet): Promise<number> {
  const definitions = Object.entries(tools).map(async ([name, { description, inputSchema }]) =>
    JSON.stringify([name, description, await asSchema(inputSchema).jsonSchema]),
  );
  return (await Promise.all(definitions)).join().length;
}
