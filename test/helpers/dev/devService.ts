import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestDatabase } from "../database.ts";
import { compileCache } from "../environment.ts";
import { freePort } from "../http.ts";
import { waitFor } from "../waitFor.ts";
import { withoutNetwork } from "./withoutNetwork.ts";

const root = join(import.meta.dirname, "../../..");

/** The whole service as `npm run dev` runs it. */
export interface DevService {
  url: string;
  output(): string;
  stop(): Promise<void>;
}

/**
 * Starts `npm run dev`, which watches the folder of extra SQL, with its emulators in a temporary folder. The service has
 * no network, and `stop` fails if it tried to use one.
 */
export async function startDevService(
  database: TestDatabase,
  extraSqlDir: string,
): Promise<DevService> {
  const [data, port] = await Promise.all([mkdtemp(join(tmpdir(), "watch-")), freePort()]);
  const network = withoutNetwork(database.url);
  const child = spawn(process.execPath, ["dev/start.ts", "--watch"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...compileCache,
      ...network.env,
      PORT: String(port),
      DATA_DIR: data,
      DATABASE_URL: database.url,
      DATABASE_EXTRA_SQL_DIR: extraSqlDir,
    },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await waitFor("the service", () => output.includes("Ctrl-C stops everything"), 110_000);
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      if (child.exitCode === null) {
        const gone = once(child, "exit");
        child.kill("SIGTERM");
        await gone;
      }
      await rm(data, { recursive: true });
      network.expectNone();
    },
  };
}
