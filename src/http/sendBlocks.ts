import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { bytesPerTurn } from "../process/yieldToEventLoop.ts";

/**
 * Sends a complete response in blocks, one per tick. Never waits for a slow reader, whose connection has the usual time
 * limit.
 */
export async function sendBlocks(
  response: ServerResponse,
  blocks: readonly Buffer[],
): Promise<void> {
  const length = blocks.reduce((sum, block) => sum + block.length, 0);
  response.setHeader("Content-Length", length);
  let written = 0;
  for (const block of blocks) {
    // The client disconnected.
    if (response.destroyed) break;
    response.write(block);
    written += block.length;
    if (written < bytesPerTurn) continue;
    written = 0;
    await setImmediate();
  }
  response.end();
}
