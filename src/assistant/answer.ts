import {
  InvalidToolInputError,
  NoSuchToolError,
  ToolChoiceViolationError,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import type { Logger } from "pino";
import { type ModelGateway, ModelError } from "../gateways/model.ts";
import type { SearchEngine } from "../gateways/search.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import { startAnswerLog } from "./answerLog.ts";
import { askModel } from "./askModel.ts";
import { BudgetUsedUpError, type StepUsage } from "./budget.ts";
import { type Caller, regionOf } from "./caller.ts";
import { type LimitReached, type StopReason, toFinishReason } from "./finishReason.ts";
import { assembleMessage, settleParts } from "./messages.ts";
import type { Operations } from "./operations.ts";
import { type Proposal, makeTools } from "./tools.ts";
import { trackUnstartedCalls } from "./unstartedCalls.ts";
import { escapePictures } from "./escapePictures.ts";

/** An answer that this process generates. */
export interface RunningAnswer {
  /** The stream of the whole answer from its beginning. Cancelling the stream does not stop the answer. */
  stream(): ReadableStream<UIMessageChunk>;
  end(reason: StopReason): void;
  /** Settles when the answer has ended and is stored. */
  done: Promise<void>;
}

interface AnswerOptions {
  config: AssistantConfig;
  model: ModelGateway;
  operations: Operations;
  engine: SearchEngine | null;
  caller: Caller;
  conversationId: string;
  answerId: string;
  messageId: string;
  /** The message that is continued after an approval; null for a new message. */
  base: UIMessage | null;
  /** Returns the conversation for the model, with `base` as its last message. */
  messages: () => Promise<readonly UIMessage[]>;
  /** Ids of tool calls whose approval was answered. */
  answeredCallIds: ReadonlySet<string>;
  log: Logger;
}

type Listener = (chunk: UIMessageChunk | null) => void;

/** Starts an answer by the model, with tools. The answer is stored even when all clients disconnect. */
export function startAnswer(options: AnswerOptions): RunningAnswer {
  const { config, caller, conversationId, operations, answerId, base, log } = options;
  const controller = new AbortController();
  let endReason: StopReason | null = null;
  const end = (reason: StopReason) => {
    endReason ??= reason;
    controller.abort(new DOMException(`The answer was stopped: ${reason}`, "AbortError"));
  };
  const timer = setTimeout(() => {
    end("slow");
  }, config.answerTimeoutMs);
  const onStop = () => {
    end("stopped");
  };
  const answerLog = startAnswerLog({ caller, answerId, log, onStop });

  const startedCallIds = new Set<string>();
  const unused = trackUnstartedCalls({ caller, conversationId, startedCallIds, log });

  const output: UIMessageChunk[] = [];
  const listeners = new Set<Listener>();
  const publish = (chunk: UIMessageChunk) => {
    output.push(chunk);
    for (const listener of listeners) listener(chunk);
  };
  let over = false;
  const done = deliverChunks().finally(() => {
    clearTimeout(timer);
    over = true;
    for (const listener of listeners) listener(null);
    listeners.clear();
  });
  // The error also reaches callers that await `done`.
  done.catch((error: unknown) => {
    log.error({ err: error }, "answer storing failed");
  });
  return { done, end, stream };

  async function deliverChunks(): Promise<void> {
    let failure: string | null = null;
    let finish: Extract<UIMessageChunk, { type: "finish" }> | null = null;
    let reached: LimitReached | null = null;
    try {
      for await (const chunk of pieces((bound) => (reached ??= bound))) {
        if (chunk.type === "error") {
          failure = chunk.errorText;
          break;
        }
        if (chunk.type === "finish") finish = chunk;
        else if (chunk.type !== "abort") {
          await unused.observe(chunk);
          answerLog.push(chunk);
          publish(chunk);
        }
      }
    } catch (error) {
      failure = publicMessage(error);
    }
    clearTimeout(timer);
    await unused.end();
    const waitsForApproval = output.some(({ type }) => type === "tool-approval-request");
    const isEmpty = !output.some(
      (chunk) =>
        (chunk.type === "text-delta" && chunk.delta.trim() !== "") ||
        chunk.type.startsWith("tool-"),
    );
    const course = { endReason, reached, failure, finish, waitsForApproval, isEmpty };
    const last = toFinishReason(course, config);
    const parts = settleParts(await assembleMessage(base, [...output, ...last.chunks]));
    await answerLog.finish(last.state, last.chunks, parts);
    // Sent after storing, so that a client that received the end can ask the next question.
    last.chunks.forEach(publish);
  }

  async function* pieces(onLimit: (bound: LimitReached) => void): AsyncGenerator<UIMessageChunk> {
    const proposals = new Map<string, Proposal>();
    const tools = makeTools({
      caller,
      conversationId,
      operations,
      engine: options.engine,
      config,
      answeredCallIds: options.answeredCallIds,
      startedCallIds,
      onProposal: (toolCallId, proposal) => proposals.set(toolCallId, proposal),
      log,
    });
    const output = askModel({
      region: await regionOf(caller),
      config,
      model: options.model,
      tools,
      messages: await options.messages(),
      base,
      messageId: options.messageId,
      signal: controller.signal,
      reserve,
      onUsage: recordUsage,
      onLimit,
      onOverrun: () => {
        end("tokens");
      },
      onError: logProblem,
      publicMessage,
    });
    for await (const chunk of escapePictures(output)) yield withStoredProposal(chunk, proposals);
  }

  function stream(): ReadableStream<UIMessageChunk> {
    let listener: Listener | undefined;
    return new ReadableStream({
      start(controller) {
        for (const chunk of output) controller.enqueue(chunk);
        if (over) {
          controller.close();
          return;
        }
        listener = (chunk) => {
          if (chunk) controller.enqueue(chunk);
          else controller.close();
        };
        listeners.add(listener);
      },
      cancel() {
        if (listener) listeners.delete(listener);
      },
    });
  }

  async function reserve(least: number, wanted: number): Promise<number | null> {
    const { rows } = await caller.run((client) =>
      client.query<{ granted: string | null }>(
        "select reserve_ai_cost($1, $2, $3, $4) as granted",
        [...[answerId, least.toFixed(6), wanted.toFixed(6), config.dailyCost]],
      ),
    );
    const granted = rows[0]?.granted ?? null;
    return granted === null ? null : Number(granted);
  }

  async function recordUsage({ inputTokens, outputTokens, cost }: StepUsage): Promise<void> {
    await caller.run((client) =>
      client.query("select record_ai_usage($1, $2, $3, $4)", [
        ...[answerId, inputTokens, outputTokens, cost.toFixed(6)],
      ]),
    );
  }

  function publicMessage(error: unknown): string {
    if (error instanceof ModelError) return error.message;
    // For invalid tool calls the library's error is a string for the model.
    const isWrongUse = InvalidToolInputError.isInstance(error) || NoSuchToolError.isInstance(error);
    if (isWrongUse || typeof error === "string")
      return "The model called an unknown tool or passed invalid arguments.";
    // Both are normal ends of an answer.
    const isEnd = error instanceof BudgetUsedUpError || ToolChoiceViolationError.isInstance(error);
    if (!isEnd) logProblem(error);
    return "Something went wrong while answering. Your question is kept: ask again.";
  }

  function logProblem(error: unknown): void {
    // The question and the provider's message are not logged: they may contain any data.
    if (error instanceof ModelError) log.warn({ problem: error.problem }, "model request failed");
    else if (!controller.signal.aborted) log.error({ err: error }, "answer failed");
  }
}

/** Shows a proposed change as it was stored. */
function withStoredProposal(
  chunk: UIMessageChunk,
  proposals: ReadonlyMap<string, Proposal>,
): UIMessageChunk {
  if (chunk.type !== "tool-approval-request") return chunk;
  const proposal = proposals.get(chunk.toolCallId);
  if (!proposal) throw new Error("A change waits for approval but was not stored");
  return {
    type: "tool-approval-request",
    toolCallId: chunk.toolCallId,
    approvalId: proposal.id,
    approvalDescriptor: proposal,
  };
}
