import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { startIdentityProvider } from "./identityProvider.ts";
import type { IdentityProvider } from "./identityProvider.ts";

export interface KeepOptions {
  /** 0 takes a free port the first time and the same one from then on. */
  port: number;
  publicUrl?: string | undefined;
  /** Where the port is remembered. */
  dataDir: string;
  log: (line: string) => void;
}

/**
 * Starts the embedded identity provider where it was the last time: its address is part of who its people are. Null, with the
 * reason in the log, when it cannot start; the service then runs without it.
 */
export async function keepIdentityProvider(options: KeepOptions): Promise<IdentityProvider | null> {
  const { publicUrl, dataDir, log } = options;
  const file = path.join(dataDir, "port");
  const remembered = options.port === 0 ? await rememberedPort(file) : options.port;
  try {
    const provider = await startIdentityProvider({ port: remembered, publicUrl });
    await mkdir(dataDir, { recursive: true });
    await writeFile(file, `${provider.port}\n`);
    return provider;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log(
      `cannot start (${reason}); logging in through it is not possible, set OIDC_EMBEDDED_PORT to another port`,
    );
    return null;
  }
}

async function rememberedPort(file: string): Promise<number> {
  const text = await readFile(file, "utf8").catch(() => "");
  const port = /^\d{1,5}\n$/.test(text) ? Number(text) : 0;
  return port <= 65_535 ? port : 0;
}
