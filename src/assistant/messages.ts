import type { UIMessage, UIMessageChunk } from "ai";
import { isToolUIPart, readUIMessageStream } from "ai";

export type Part = UIMessage["parts"][number];

/** Merges the deltas of each text between two other parts; a model may interleave several texts. */
export function mergeDeltas(chunks: readonly UIMessageChunk[]): UIMessageChunk[] {
  const merged: UIMessageChunk[] = [];
  const places = new Map<string, number>();
  for (const chunk of chunks) {
    const key = textOf(chunk);
    const place = key === null ? undefined : places.get(key);
    const earlier = place === undefined ? undefined : merged[place];
    if (place !== undefined && earlier) {
      merged[place] = joined(earlier, chunk);
      continue;
    }
    if (key === null) places.clear();
    else places.set(key, merged.length);
    merged.push(chunk);
  }
  return merged;
}

/** The id of the text that a chunk continues; null for other chunks. */
function textOf(chunk: UIMessageChunk): string | null {
  if (chunk.type === "text-delta") return `text ${chunk.id}`;
  return chunk.type === "tool-input-delta" ? `tool ${chunk.toolCallId}` : null;
}

function joined(first: UIMessageChunk, second: UIMessageChunk): UIMessageChunk {
  if (first.type === "text-delta" && second.type === "text-delta")
    return { ...first, delta: first.delta + second.delta };
  if (first.type === "tool-input-delta" && second.type === "tool-input-delta")
    return { ...first, inputTextDelta: first.inputTextDelta + second.inputTextDelta };
  return second;
}

/** Assembles chunks into a message; `base` is the message that they continue, if any. */
export async function assembleMessage(
  base: UIMessage | null,
  chunks: readonly UIMessageChunk[],
): Promise<Part[]> {
  let parts: Part[] = base?.parts ?? [];
  const messages = readUIMessageStream({
    ...(base ? { message: base } : {}),
    stream: ReadableStream.from(mergeDeltas(chunks)),
    onError: () => undefined,
  });
  for await (const message of messages) parts = message.parts;
  return parts;
}

/** The parts of an ended answer, with no part left unfinished. */
export function settleParts(parts: readonly Part[]): Part[] {
  return parts.flatMap((part): Part[] => {
    if (part.type === "text" || part.type === "reasoning") return [{ ...part, state: "done" }];
    if (!isToolUIPart(part)) return [part];
    if (part.state === "input-streaming") return [];
    if (part.state === "input-available")
      return [failedPart(part, "Not done: the answer ended before.")];
    if (part.state === "approval-responded")
      return part.approval.approved
        ? [
            failedPart(
              part,
              "It is not known whether this was done, as the answer ended meanwhile: look before asking again.",
            ),
          ]
        : [deniedPart(part, part.approval.reason)];
    return [part];
  });
}

/** The parts of an earlier answer when the conversation continues: open approvals count as denied. */
export function expireApprovals(parts: readonly Part[]): Part[] {
  return settleParts(parts).map((part) =>
    isToolUIPart(part) && part.state === "approval-requested"
      ? deniedPart(part, "Not approved before the conversation went on.")
      : part,
  );
}

/** Adds the user's decision to the part that shows a proposed change. */
export function addDecision(
  part: Part,
  decision: { approved: boolean; reason: string | undefined },
): Part {
  if (!isToolUIPart(part) || part.state !== "approval-requested") return part;
  const { approved, reason } = decision;
  const approval = { ...part.approval, approved, ...(reason === undefined ? {} : { reason }) };
  return { ...part, state: "approval-responded", approval };
}

function failedPart(part: Part, errorText: string): Part {
  return { ...part, state: "output-error", errorText } as Part;
}

function deniedPart(part: Part & { approval?: unknown }, reason: string | undefined): Part {
  const approval = {
    ...(part.approval as object | undefined),
    approved: false,
    ...(reason === undefined ? {} : { reason }),
  };
  return { ...part, state: "output-denied", approval } as Part;
}

/** Converts parts back to chunks, so that a reconnecting client can rebuild a continued message. */
export function toChunks(parts: readonly Part[]): UIMessageChunk[] {
  return parts.flatMap((part, index): UIMessageChunk[] => {
    if (part.type === "step-start") return [{ type: "start-step" }];
    if (part.type === "text") {
      const id = `kept-${index}`;
      return [
        { type: "text-start", id },
        { type: "text-delta", id, delta: part.text },
        { type: "text-end", id },
      ];
    }
    if (part.type.startsWith("data-")) return [part as UIMessageChunk];
    if (!isToolUIPart(part) || part.state === "input-streaming") return [];
    const { toolCallId, input } = part;
    const toolName = part.type === "dynamic-tool" ? part.toolName : part.type.slice(5);
    const dynamic = part.type === "dynamic-tool" ? { dynamic: true } : {};
    const chunks: UIMessageChunk[] = [
      { type: "tool-input-available", toolCallId, toolName, input, ...dynamic },
    ];
    if (part.approval) {
      const approvalDescriptor = (part.approval as { descriptor?: unknown }).descriptor;
      chunks.push({
        type: "tool-approval-request",
        approvalId: part.approval.id,
        toolCallId,
        approvalDescriptor,
      });
    }
    if (part.state === "output-available")
      chunks.push({ type: "tool-output-available", toolCallId, output: part.output, ...dynamic });
    if (part.state === "output-error")
      chunks.push({
        type: "tool-output-error",
        toolCallId,
        errorText: part.errorText,
        ...dynamic,
      });
    if (part.state === "output-denied") chunks.push({ type: "tool-output-denied", toolCallId });
    return chunks;
  });
}

/** A note by the service on why an answer ended. It is stored with the conversation. */
export function noteChunk(code: string, text: string): UIMessageChunk {
  return { type: "data-note", id: `note-${code}`, data: { code, text } };
}
