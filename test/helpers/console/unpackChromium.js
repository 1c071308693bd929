import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { npmEnvironment } from "../environment.ts";

// @sparticuz/chromium unpacks into TMPDIR, so it runs in a separate process. Outside Amazon Linux it omits
// shared libraries that a system without a desktop lacks; `inflate` adds them.
const script = `
  import chromium, { inflate } from "@sparticuz/chromium";
  await chromium.executablePath();
  await inflate(process.argv[1]);
`;

const fonts = (folder) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${folder}/fonts/fonts</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${folder}/font-cache</cachedir>
</fontconfig>
`;

/** Unpacks Chromium and its shared libraries from @sparticuz/chromium once per installation; returns the folder. */
export async function unpackChromium() {
  const root = join(import.meta.dirname, "../../..");
  const source = dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium")));
  const { version } = JSON.parse(await readFile(join(source, "../package.json"), "utf8"));
  const cache = join(root, "node_modules/.cache");
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(cache, { recursive: true });
  const unpacked = await mkdtemp(join(cache, "chromium-"));
  try {
    await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", script, join(source, "../bin/al2023.tar.br")],
      { cwd: root, env: { ...npmEnvironment, TMPDIR: unpacked } },
    );
    await writeFile(join(unpacked, "fonts/fonts.conf"), fonts(folder));
    // The rename is atomic; a concurrent run may have created the folder first.
    await rename(unpacked, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
  return folder;
}
