import type { UIMessageChunk } from "ai";
import { ModelError } from "../gateways/model.ts";
import type { AssistantConfig } from "../settings/assistant.ts";
import type { AnswerState } from "./answerLog.ts";
import { interruption } from "./conversations.ts";
import { note } from "./messages.ts";

/** Why an answer is ended from without, before the model has said all. */
export type StopReason = "stopped" | "slow" | "interrupted" | "tokens";
/** The bound that an answer has come to. */
export type LimitReached = "tokens" | "cost" | "steps";

interface Course {
  endReason: StopReason | null;
  reached: LimitReached | null;
  /** What went wrong, in words for people. */
  failure: string | null;
  /** What the model said last; null when it did not come to that. */
  finish: Extract<UIMessageChunk, { type: "finish" }> | null;
  waitsForApproval: boolean;
  /** Whether nothing came of it: neither words nor the use of a tool. */
  isEmpty: boolean;
}

type Limits = Pick<AssistantConfig, "maxOutputTokens" | "maxSteps">;

/** How an answer ends, and what is told of that last: in the answer, where it stays, and as the protocol has it. */
export function finishReasonOf(
  course: Course,
  limits: Limits,
): { state: AnswerState; chunks: UIMessageChunk[] } {
  const { endReason, reached } = course;
  if (endReason === "stopped")
    return {
      state: "stopped",
      chunks: [note("stopped", "You stopped the answer."), { type: "abort" }],
    };
  if (endReason === "interrupted")
    return { state: "interrupted", chunks: [interruption, errorOf(interruption)] };
  const bound = endReason === "tokens" ? "tokens" : (reached ?? boundSaid(course));
  const finish = course.finish ?? { type: "finish" as const };
  if (bound !== null && (course.failure === null || bound !== "cost") && endReason !== "slow")
    return { state: "done", chunks: [note(bound, boundTexts(limits)[bound]), finish] };
  const failure = endReason === "slow" ? new ModelError("slow").message : course.failure;
  if (failure === null) return { state: "done", chunks: [...remark(course), finish] };
  const told = note("failed", failure);
  return { state: "failed", chunks: [told, errorOf(told)] };
}

/** What is said of an answer that the model has ended in good order, and that is none. */
function remark({ finish, isEmpty }: Course): UIMessageChunk[] {
  if (finish?.finishReason === "content-filter")
    return [note("declined", "The language model, or its provider, declines to answer this.")];
  return isEmpty
    ? [note("empty", "The language model said nothing. Ask again, or in other words.")]
    : [];
}

/** The bound that the model's own last word tells of. */
function boundSaid({ failure, finish, waitsForApproval }: Course): LimitReached | null {
  if (failure !== null) return null;
  if (finish?.finishReason === "length") return "tokens";
  return finish?.finishReason === "tool-calls" && !waitsForApproval ? "steps" : null;
}

function boundTexts({ maxOutputTokens, maxSteps }: Limits): Record<LimitReached, string> {
  return {
    tokens: `The answer was cut off: one may have ${maxOutputTokens} tokens.`,
    cost: "The answer was cut off: what your answers may cost on one day is used up. It goes on tomorrow (UTC).",
    steps: `The answer was cut off: the model may be asked ${maxSteps} times for one. Ask for less at a time.`,
  };
}

function errorOf(told: UIMessageChunk): UIMessageChunk {
  const { data } = told as { data: { text: string } };
  return { type: "error", errorText: data.text };
}
