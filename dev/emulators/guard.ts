import { rm } from "node:fs/promises";
import { endPostgres, identifyProcess } from "./processIds.ts";

// Shuts a PostgreSQL server down when the process that started it ends, also by SIGKILL: then the pipe from that
// process closes.
// Usage: `guard.ts <process ID of the server> [folders to remove afterwards]`.

const server = identifyProcess(Number(process.argv[2]));
const folders = process.argv.slice(3);

process.stdin.resume();
process.stdin.on("error", () => undefined);
process.stdin.once("close", () => {
  void finish();
});

async function finish(): Promise<void> {
  if (server !== undefined) await endPostgres(server);
  for (const folder of folders) {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
