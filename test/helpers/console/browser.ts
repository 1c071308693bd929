import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { consoleBrowser, programPath } from "../environment.ts";
import { unpackChromium } from "./unpackChromium.js";

/** How long a test waits for the browser, on a machine that is slow or busy. */
export const patienceMs = 90_000;

/** Starts the headless Chromium of the tests, with the security of an ordinary browser but for the sandbox of its processes. */
export async function launchBrowser(): Promise<Browser> {
  if (consoleBrowser !== "")
    return chromium.launch({ executablePath: consoleBrowser, timeout: patienceMs });
  const folder = await unpackChromium();
  return chromium.launch({
    timeout: patienceMs,
    executablePath: join(folder, "chromium"),
    env: {
      PATH: programPath,
      HOME: tmpdir(),
      // A system without a desktop lacks some of the libraries.
      LD_LIBRARY_PATH: join(folder, "al2023/lib"),
      FONTCONFIG_FILE: join(folder, "fonts/fonts.conf"),
    },
  });
}

/** Gives a browser the cookie of a session, as a login does. */
export async function addSession(
  context: BrowserContext,
  { url }: { url: string },
  token: string,
): Promise<void> {
  const name = "office_session";
  await context.addCookies([{ name, value: token, url, httpOnly: true, sameSite: "Strict" }]);
}
