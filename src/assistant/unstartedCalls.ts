import type { UIMessageChunk } from "ai";
import type { Logger } from "pino";
import type { Caller } from "./caller.ts";
import { recordToolUse, summaryOf } from "./recordToolUse.ts";
import { writeTools } from "./writeTools.ts";

interface UnstartedCallsOptions {
  caller: Caller;
  conversationId: string;
  /** Ids of started tool calls, which record their own outcome. */
  startedCallIds: ReadonlySet<string>;
  log: Logger;
}

interface ToolCall {
  name: string;
  input: unknown;
}

/** Records tool calls that were never started in the audit log. */
export interface UnstartedCalls {
  /** Processes a chunk of the answer. */
  observe(chunk: UIMessageChunk): Promise<void>;
  /** Records the calls that were not started when the answer ended. */
  end(): Promise<void>;
}

/**
 * Tracks each tool call until it starts. Calls of unknown tools, with invalid arguments, or after the end never start.
 */
export function trackUnstartedCalls(options: UnstartedCallsOptions): UnstartedCalls {
  const { startedCallIds, log } = options;
  const wanted = new Map<string, ToolCall>();

  async function record(toolCallId: string, { name, input }: ToolCall, message: string) {
    await recordToolUse(options, {
      name: name.slice(0, 100),
      isWrite: Object.hasOwn(writeTools, name),
      toolCallId,
      details: { arguments: summaryOf(input), outcome: "refused", message },
    }).catch((error: unknown) => {
      // The call had no effect, so only its audit record is missing.
      log.error({ err: error }, "tool call record failed");
    });
  }

  return {
    async observe(chunk) {
      if (chunk.type === "tool-input-start" || chunk.type === "tool-input-available") {
        const input = "input" in chunk ? chunk.input : null;
        wanted.set(chunk.toolCallId, { name: chunk.toolName, input });
      }
      if (chunk.type !== "tool-input-error") return;
      const { toolCallId, toolName: name, input } = chunk;
      wanted.delete(toolCallId);
      await record(
        toolCallId,
        { name, input },
        "There is no such tool, or its arguments are wrong.",
      );
    },
    async end() {
      for (const [toolCallId, use] of wanted)
        if (!startedCallIds.has(toolCallId))
          await record(toolCallId, use, "Not done: the answer ended before.");
    },
  };
}
