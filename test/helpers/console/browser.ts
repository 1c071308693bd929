import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { consoleBrowser, programPath } from "../environment.ts";
import { unpackChromium } from "./unpackChromium.js";

/** Timeout of browser actions, long enough for a slow or busy machine. */
export const browserTimeoutMs = 90_000;

/** Starts headless Chromium. Web security is on; only the process sandbox is off. */
export async function launchBrowser(): Promise<Browser> {
  if (consoleBrowser !== "")
    return chromium.launch({ executablePath: consoleBrowser, timeout: browserTimeoutMs });
  const folder = await unpackChromium();
  return chromium.launch({
    timeout: browserTimeoutMs,
    executablePath: join(folder, "chromium"),
    env: {
      PATH: programPath,
      HOME: tmpdir(),
      // Provides shared libraries that a system without a desktop lacks.
      LD_LIBRARY_PATH: join(folder, "al2023/lib"),
      FONTCONFIG_FILE: join(folder, "fonts/fonts.conf"),
    },
  });
}

/** Adds the session cookie that a login sets. */
export async function addSession(
  context: BrowserContext,
  { url }: { url: string },
  token: string,
): Promise<void> {
  const name = "office_session";
  await context.addCookies([{ name, value: token, url, httpOnly: true, sameSite: "Strict" }]);
}
