import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { consoleBrowser, programPath, unpackedChromium } from "../environment.ts";

/** How long a test waits for the browser, on a machine that is slow or busy. */
export const patienceMs = 90_000;

/** Starts the headless Chromium of the tests, with the security of an ordinary browser but for the sandbox of its processes. */
export function launchBrowser(): Promise<Browser> {
  if (consoleBrowser !== "")
    return chromium.launch({ executablePath: consoleBrowser, timeout: patienceMs });
  return chromium.launch({
    timeout: patienceMs,
    executablePath: join(unpackedChromium, "chromium"),
    env: {
      PATH: programPath,
      HOME: tmpdir(),
      // A system without a desktop lacks some of the libraries.
      LD_LIBRARY_PATH: join(unpackedChromium, "al2023/lib"),
      FONTCONFIG_FILE: join(unpackedChromium, "fonts/fonts.conf"),
    },
  });
}
