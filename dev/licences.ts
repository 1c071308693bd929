import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

interface LockedPackage {
  /** Present where the folder has another name, as with an alias. */
  name?: string;
  version?: string;
  license?: string;
  dev?: boolean;
}

const root = join(import.meta.dirname, "..");

/** The page with the licence of each package that production installs. Those whose lock entry names none are looked for in the package. */
export async function licencesPage(): Promise<string> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const rows = new Map<string, string>();
  for (const [path, locked] of Object.entries(lock.packages)) {
    const { version = "", license, dev = false } = locked;
    if (path === "" || dev) continue;
    const name = locked.name ?? path.split("node_modules/").at(-1) ?? "";
    rows.set(
      `${name} ${version}`,
      license ?? (await ownLicence(path)) ?? elsewhere.get(name) ?? "not stated",
    );
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const counts = new Map<string, number>();
  for (const [, licence] of sorted) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const most = [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return [
    "# Licences",
    "",
    "Of every package that production installs. Written by `npm run generate` from the lock file: change that, not this page.",
    "",
    "| licence | packages |",
    "| --- | --- |",
    ...most.map(([licence, count]) => `| ${licence} | ${count} |`),
    "",
    "| package | licence |",
    "| --- | --- |",
    ...sorted.map(([name, licence]) => `| ${name} | ${licence} |`),
    "",
  ].join("\n");
}

/** What no file of a package says, and its authors say in another place. */
const elsewhere = new Map([
  // The README of its repository has it; no release was made after that.
  ["buffers", "MIT"],
]);

/** What the package's own files say: the manifest in one of its older forms, or else the readme's chapter. */
async function ownLicence(path: string): Promise<string | undefined> {
  const text = await readFile(join(root, path, "package.json"), "utf8").catch(() => "{}");
  const { license, licenses } = JSON.parse(text) as {
    license?: string | { type: string };
    licenses?: { type: string }[];
  };
  const named = typeof license === "string" ? license : license?.type;
  return named ?? licenses?.map(({ type }) => type).join(" OR ") ?? (await readmeLicence(path));
}

async function readmeLicence(path: string): Promise<string | undefined> {
  const folder = join(root, path);
  const files = await readdir(folder).catch(() => []);
  const readme = files.find((file) => /^readme\b/i.test(file));
  if (readme === undefined) return undefined;
  const chapter = /^#+ *licen[cs]e\s+(.*)/im.exec(await readFile(join(folder, readme), "utf8"));
  return /^\(?(?:the )?(MIT)\b/i.exec(chapter?.[1] ?? "")?.[1];
}
