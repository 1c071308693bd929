import type { UIMessageChunk } from "ai";
import type { Logger } from "pino";
import type { Caller } from "./caller.ts";
import { recordToolUse, summaryOf } from "./recordToolUse.ts";
import { writeTools } from "./writeTools.ts";

interface UnusedOptions {
  caller: Caller;
  conversationId: string;
  /** The uses that tools have begun: they are recorded where they end. */
  begun: ReadonlySet<string>;
  log: Logger;
}

interface Wanted {
  name: string;
  input: unknown;
}

/** Uses of tools that the model asked for and that came to nothing. The audit log has them as well. */
export interface UnusedTools {
  /** Looks at a piece of the answer. */
  see(chunk: UIMessageChunk): Promise<void>;
  /** Records those that were not begun when the answer ended. */
  end(): Promise<void>;
}

/** Notes each use that a model asks for, until it is begun: of a tool that there is not, with wrong arguments, or too late. */
export function noteUnusedTools(options: UnusedOptions): UnusedTools {
  const { begun, log } = options;
  const wanted = new Map<string, Wanted>();

  async function record(toolCallId: string, { name, input }: Wanted, message: string) {
    await recordToolUse(options, {
      name: name.slice(0, 100),
      isWrite: Object.hasOwn(writeTools, name),
      toolCallId,
      details: { arguments: summaryOf(input), outcome: "refused", message },
    }).catch((error: unknown) => {
      // Nothing was done, so that nothing is lost but the record of it.
      log.error({ err: error }, "the refused use of a tool could not be recorded");
    });
  }

  return {
    async see(chunk) {
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
        if (!begun.has(toolCallId))
          await record(toolCallId, use, "Not done: the answer ended before.");
    },
  };
}
