import { createHash } from "node:crypto";
import { readFile, readdir, writeFile } from "node:fs/promises";
import path from "node:path";

// `npm run admin:build`: builds the console into `admin/dist`, unless the build there is current. A build takes seconds, so it is not
// repeated when nothing has changed.

const root = path.resolve(import.meta.dirname, "..");
const admin = path.join(root, "admin");
const stampFile = path.join(admin, "dist", ".built");

/** The hash of all files that affect a build. */
async function stampOfSources(): Promise<string> {
  const entries = await readdir(admin, { recursive: true, withFileTypes: true });
  const sources = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((name) => !name.startsWith(path.join("admin", "dist") + path.sep))
    .sort();
  const hash = createHash("sha256");
  const others = [
    "src/schema/rowNames.ts",
    "src/text/insideSentence.ts",
    "src/text/suggest.ts",
    "vite.config.ts",
    "schema.graphql",
    "package-lock.json",
  ];
  for (const name of [...sources, ...others]) {
    const content = await readFile(path.join(root, name));
    hash.update(`${name}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

const stamp = await stampOfSources();
const built = await readFile(stampFile, "utf8").catch(() => null);
if (built !== stamp) {
  const started = performance.now();
  // Otherwise Vite bundles React's development build, for example under a test runner.
  process.env["NODE_ENV"] = "production";
  const { build } = await import("vite");
  await build({
    configFile: path.join(root, "vite.config.ts"),
    mode: "production",
    logLevel: "warn",
  });
  // Written last, so that an interrupted build has no stamp. The server reloads the build when the stamp changes.
  await writeFile(stampFile, stamp);
  process.stdout.write(`console built in ${Math.round(performance.now() - started)} ms\n`);
}
