import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

interface LockedPackage {
  /** Present if the folder has another name, as for an alias. */
  name?: string;
  version?: string;
  license?: string;
  dev?: boolean;
}

const root = join(import.meta.dirname, "..");

/** The page with the licence of each production package: from the lock file, else from the package. */
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
      license ?? (await packageLicence(path)) ?? knownLicences.get(name) ?? "not stated",
    );
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const counts = new Map<string, number>();
  for (const [, licence] of sorted) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const most = [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return [
    "# Licences",
    "",
    "The licence of each production package. Generated from the lock file by `npm run generate`.",
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

/** Licences of packages whose files do not state one. */
const knownLicences = new Map([
  // Stated in the repository's README, which was changed after the last release.
  ["buffers", "MIT"],
]);

/** The licence from the package's manifest, also in its deprecated formats, or from its readme. */
async function packageLicence(path: string): Promise<string | undefined> {
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
