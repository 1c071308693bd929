import {
  InvalidToolInputError,
  NoSuchToolError,
  ToolChoiceViolationError,
  type ModelMessage,
  type UIMessage,
  type UIMessageChunk,
  convertToModelMessages,
  stepCountIs,
  streamText,
} from "ai";
import type { Logger } from "pino";
import { type ModelGateway, ModelError } from "../gateways/model.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import { type AnswerState, keepAnswerLog } from "./answerLog.ts";
import { spentOn } from "./budget.ts";
import type { Caller } from "./caller.ts";
import { interruption } from "./conversations.ts";
import { assemble, note, settled } from "./messages.ts";
import type { Operations } from "./operations.ts";
import { systemPrompt } from "./prompt.ts";
import { type Proposal, makeTools } from "./tools.ts";

/** How long what is left of an answer is waited for, once it is to end. */
const graceMs = 500;
/** A model that writes more for each token that it may write does not keep to it. */
const charactersPerToken = 12;

/** Why an answer ends before the model has said all. */
export type EndReason = "stopped" | "slow" | "interrupted" | "tokens";

/** An answer that this server gives. */
export interface RunningAnswer {
  /** All of it, from the beginning, to its end. Leaving it does not end the answer. */
  stream(): ReadableStream<UIMessageChunk>;
  end(reason: EndReason): void;
  /** Settles when the answer is over and kept. */
  done: Promise<void>;
}

interface AnswerOptions {
  config: AssistantConfig;
  model: ModelGateway;
  operations: Operations;
  caller: Caller;
  conversationId: string;
  answerId: string;
  messageId: string;
  /** The message that the answer goes on with, after an approval; null for an answer of its own. */
  base: UIMessage | null;
  /** The conversation as the model is to have it, with `base` as its last message. */
  messages: () => Promise<readonly UIMessage[]>;
  answered: ReadonlySet<string>;
  log: Logger;
}

/** Has the model answer, with tools, and keeps what comes of it whatever becomes of those who listen. */
export function startAnswer(options: AnswerOptions): RunningAnswer {
  const { config, caller, answerId, base, log } = options;
  const controller = new AbortController();
  let endReason: EndReason | null = null;
  const end = (reason: EndReason) => {
    endReason ??= reason;
    controller.abort(new DOMException(`The answer is ended: ${reason}`, "AbortError"));
  };
  const timer = setTimeout(() => {
    end("slow");
  }, config.answerTimeoutMs);
  const answerLog = keepAnswerLog({
    caller,
    answerId,
    log,
    onStop: () => {
      end("stopped");
    },
  });

  const said: UIMessageChunk[] = [];
  const listeners = new Set<(chunk: UIMessageChunk | null) => void>();
  const tell = (chunk: UIMessageChunk) => {
    said.push(chunk);
    for (const listener of listeners) listener(chunk);
  };
  let over = false;

  const done = give().finally(() => {
    over = true;
    for (const listener of listeners) listener(null);
    listeners.clear();
  });
  // Whoever waits for it hears of it as well.
  done.catch((error: unknown) => {
    log.error({ err: error }, "an answer could not be kept");
  });

  return {
    done,
    end,
    stream() {
      let listener: ((chunk: UIMessageChunk | null) => void) | undefined;
      return new ReadableStream({
        start(stream) {
          for (const chunk of said) stream.enqueue(chunk);
          if (over) {
            stream.close();
            return;
          }
          listener = (chunk) => {
            if (chunk) stream.enqueue(chunk);
            else stream.close();
          };
          listeners.add(listener);
        },
        cancel() {
          if (listener) listeners.delete(listener);
        },
      });
    },
  };

  async function give(): Promise<void> {
    let failure: string | null = null;
    let finish: UIMessageChunk = { type: "finish" };
    let reached: "tokens" | "cost" | "steps" | null = null;
    try {
      for await (const chunk of piecesOf()) {
        if (chunk.type === "error") {
          failure = chunk.errorText;
          break;
        }
        if (chunk.type === "finish") finish = chunk;
        else if (chunk.type !== "abort") {
          answerLog.push(chunk);
          tell(chunk);
        }
      }
    } catch (error) {
      failure = publicMessage(error);
    }
    clearTimeout(timer);
    const last = ending();
    const parts = settled(await assemble(base, [...said, ...last.chunks]));
    await answerLog.finish(last.state, last.chunks, parts);
    // Told when it is kept: whoever has heard the end can ask the next question.
    last.chunks.forEach(tell);

    function ending(): { state: AnswerState; chunks: UIMessageChunk[] } {
      const { maxOutputTokens, maxSteps } = config;
      if (endReason === "stopped")
        return {
          state: "stopped",
          chunks: [note("stopped", "You stopped the answer."), { type: "abort" }],
        };
      if (endReason === "interrupted")
        return { state: "interrupted", chunks: [interruption, errorOf(interruption)] };
      if (endReason === "slow") failure = new ModelError("slow").message;
      if (failure !== null && endReason !== "tokens" && reached !== "steps") {
        const told = note("failed", failure);
        return { state: "failed", chunks: [told, errorOf(told)] };
      }
      const reason = finish.type === "finish" ? finish.finishReason : undefined;
      if (endReason === "tokens" || reached === "tokens" || reason === "length")
        return bounded("tokens", `The answer was cut off: one may have ${maxOutputTokens} tokens.`);
      if (reached === "cost")
        return bounded(
          "cost",
          "The answer was cut off: what your answers may cost on one day is used up. It goes on tomorrow (UTC).",
        );
      if (reached === "steps" || (reason === "tool-calls" && !waitsForApproval()))
        return bounded(
          "steps",
          `The answer was cut off: the model may be asked ${maxSteps} times for one. Ask for less at a time.`,
        );
      return { state: "done", chunks: [finish] };
    }

    function bounded(code: string, text: string) {
      return { state: "done" as const, chunks: [note(code, text), finish] };
    }

    function waitsForApproval(): boolean {
      return said.some((chunk) => chunk.type === "tool-approval-request");
    }

    async function* piecesOf(): AsyncGenerator<UIMessageChunk> {
      const proposals = new Map<string, Proposal>();
      const { conversationId, operations, model, answered } = options;
      const tools = makeTools({
        caller,
        conversationId,
        operations,
        approvalMinutes: config.approvalMinutes,
        answered,
        onProposal: (toolCallId, proposal) => proposals.set(toolCallId, proposal),
        log,
      });
      const messages = await convertToModelMessages([...(await options.messages())], {
        tools,
        ignoreIncompleteToolCalls: true,
      });
      let outputTokens = 0;
      let written = 0;
      let read = 0;
      let isOpen = false;

      const spend = async (usage: Parameters<typeof spentOn>[0]) => {
        const spent = spentOn(usage, { read, written }, config);
        [isOpen, written] = [false, 0];
        outputTokens += spent.outputTokens;
        const today = await recordUsage(spent);
        if (outputTokens >= config.maxOutputTokens) reached = "tokens";
        else if (today >= config.dailyCost) reached = "cost";
      };

      const result = streamText({
        model: model.model,
        system: systemPrompt(new Date()),
        messages,
        tools,
        maxRetries: 0,
        abortSignal: controller.signal,
        stopWhen: [stepCountIs(config.maxSteps), () => reached !== null],
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
          // Asked for words at last, it wants to use another tool.
          if (ToolChoiceViolationError.isInstance(error)) reached = "steps";
          else logProblem(error);
        },
      });
      const reader = result
        .toUIMessageStream({
          sendReasoning: false,
          sendSources: false,
          originalMessages: base ? [base] : [],
          generateMessageId: () => options.messageId,
          onError: publicMessage,
        })
        .getReader();
      const { promise: late, resolve } = Promise.withResolvers<{ done: true; value: undefined }>();
      controller.signal.addEventListener("abort", () => {
        setTimeout(resolve, graceMs, { done: true, value: undefined });
      });
      try {
        for (;;) {
          const { done, value } = await Promise.race([reader.read(), late]);
          if (done) break;
          if (value.type === "text-delta") written += value.delta.length;
          if (value.type === "tool-input-delta") written += value.inputTextDelta.length;
          if (written > config.maxOutputTokens * charactersPerToken) end("tokens");
          yield shown(value, proposals);
        }
      } finally {
        reader.cancel().catch(() => undefined);
        // What the model was asked and has not finished answering is paid for as well.
        if (isOpen && (written > 0 || endReason !== null)) await spend(null);
      }
    }
  }

  async function recordUsage(spent: ReturnType<typeof spentOn>): Promise<number> {
    const { inputTokens, outputTokens, cost } = spent;
    const { rows } = await caller.run((client) =>
      client.query<{ cost: string }>("select record_ai_usage($1, $2, $3, $4) as cost", [
        ...[answerId, inputTokens, outputTokens, cost.toFixed(6)],
      ]),
    );
    return Number(rows[0]?.cost ?? 0);
  }

  function publicMessage(error: unknown): string {
    if (error instanceof ModelError) return error.message;
    if (InvalidToolInputError.isInstance(error) || NoSuchToolError.isInstance(error))
      return "The model used a tool in a way that there is not.";
    if (!ToolChoiceViolationError.isInstance(error)) logProblem(error);
    return "Something went wrong while answering. Your question is kept: ask again.";
  }

  function logProblem(error: unknown): void {
    // Neither the question nor what the provider says of it: it may hold anything.
    if (error instanceof ModelError) log.warn({ problem: error.problem }, "the model failed");
    else if (!controller.signal.aborted) log.error({ err: error }, "an answer failed");
  }
}

/** A proposed change is shown as it was written down. */
function shown(chunk: UIMessageChunk, proposals: ReadonlyMap<string, Proposal>): UIMessageChunk {
  if (chunk.type !== "tool-approval-request") return chunk;
  const proposal = proposals.get(chunk.toolCallId);
  if (!proposal) throw new Error("A change waits for approval that was not written down");
  return {
    type: "tool-approval-request",
    toolCallId: chunk.toolCallId,
    approvalId: proposal.id,
    approvalDescriptor: proposal,
  };
}

function errorOf(told: UIMessageChunk): UIMessageChunk {
  const { data } = told as { data: { text: string } };
  return { type: "error", errorText: data.text };
}

/** Characters of what the model is given; pictures and documents count as a page of text. */
function lengthOf(messages: readonly ModelMessage[]): number {
  const pageOf = (_key: string, value: unknown) =>
    typeof value === "string" && value.startsWith("data:") ? "x".repeat(4_000) : value;
  return JSON.stringify(messages, pageOf).length;
}
