import type { UIMessageChunk } from "ai";
import { ModelError } from "../gateways/model.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import type { AnswerState } from "./answerLog.ts";
import { interruption } from "./conversations.ts";
import { noteChunk } from "./messages.ts";

/** Why an answer is stopped before the model finishes. */
export type StopReason = "stopped" | "slow" | "interrupted" | "tokens";
/** The limit that ended an answer. */
export type LimitReached = "tokens" | "cost" | "steps";

interface AnswerOutcome {
  endReason: StopReason | null;
  reached: LimitReached | null;
  /** The error message for users. */
  failure: string | null;
  /** The model's last finish part; null when there was none. */
  finish: Extract<UIMessageChunk, { type: "finish" }> | null;
  waitsForApproval: boolean;
  /** Whether the answer contains neither text nor tool calls. */
  isEmpty: boolean;
}

type Limits = Pick<AssistantConfig, "maxOutputTokens" | "maxSteps">;

/** Maps the end of an answer to a note in the answer and the final stream parts. */
export function toFinishReason(
  course: AnswerOutcome,
  limits: Limits,
): { state: AnswerState; chunks: UIMessageChunk[] } {
  const { endReason, reached } = course;
  if (endReason === "stopped")
    return {
      state: "stopped",
      chunks: [noteChunk("stopped", "You stopped the answer."), { type: "abort" }],
    };
  if (endReason === "interrupted")
    return { state: "interrupted", chunks: [interruption, errorOf(interruption)] };
  const bound = endReason === "tokens" ? "tokens" : (reached ?? limitFromModel(course));
  const finish = course.finish ?? { type: "finish" as const };
  if (bound !== null && (course.failure === null || bound !== "cost") && endReason !== "slow")
    return { state: "done", chunks: [noteChunk(bound, boundTexts(limits)[bound]), finish] };
  const failure = endReason === "slow" ? new ModelError("slow").message : course.failure;
  if (failure === null) return { state: "done", chunks: [...remark(course), finish] };
  const failureNote = noteChunk("failed", failure);
  return { state: "failed", chunks: [failureNote, errorOf(failureNote)] };
}

/** The note for an answer that the model ended normally but without content. */
function remark({ finish, isEmpty }: AnswerOutcome): UIMessageChunk[] {
  if (finish?.finishReason === "content-filter")
    return [noteChunk("declined", "The language model, or its provider, declines to answer this.")];
  return isEmpty
    ? [noteChunk("empty", "The language model said nothing. Ask again, or in other words.")]
    : [];
}

/** The limit that the model's finish reason names. */
function limitFromModel({ failure, finish, waitsForApproval }: AnswerOutcome): LimitReached | null {
  if (failure !== null) return null;
  if (finish?.finishReason === "length") return "tokens";
  return finish?.finishReason === "tool-calls" && !waitsForApproval ? "steps" : null;
}

function boundTexts({ maxOutputTokens, maxSteps }: Limits): Record<LimitReached, string> {
  return {
    tokens: `The answer was cut off: one may have ${maxOutputTokens} tokens.`,
    cost: "The answer was cut off: your daily budget for the assistant is used up. It is available again tomorrow (UTC).",
    steps: `The answer was cut off: the model may be asked ${maxSteps} times for one. Ask for less at a time.`,
  };
}

function errorOf(failureNote: UIMessageChunk): UIMessageChunk {
  const { data } = failureNote as { data: { text: string } };
  return { type: "error", errorText: data.text };
}
