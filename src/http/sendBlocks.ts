import type { ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import { bytesPerTurn } from "../process/yieldToEventLoop.ts";

/**
 * Sends an answer that is all there, a part in each turn of the event loop. It is ended whether or not it is read, so that who does not read it
 * has as much time as with any other answer, and keeps its turn no longer.
 */
export async function sendBlocks(
  response: ServerResponse,
  blocks: readonly Buffer[],
): Promise<void> {
  const length = blocks.reduce((sum, block) => sum + block.length, 0);
  response.setHeader("Content-Length", length);
  let written = 0;
  for (const block of blocks) {
    // Nobody takes it any more.
    if (response.destroyed) break;
    response.write(block);
    written += block.length;
    if (written < bytesPerTurn) continue;
    written = 0;
    await setImmediate();
  }
  response.end();
}
