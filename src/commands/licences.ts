import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

// `npm run licences` writes docs/licences.md anew from the lock file; a test holds the file against it.

interface LockedPackage {
  version?: string;
  license?: string;
  dev?: boolean;
}

const root = join(import.meta.dirname, "../..");

/** The page with the licence of each package that production installs. Those whose lock entry names none are read from the package. */
export async function licencesPage(): Promise<string> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, LockedPackage>;
  };
  const rows = new Map<string, string>();
  for (const [path, { version = "", license, dev = false }] of Object.entries(lock.packages)) {
    const name = path.split("node_modules/").at(-1) ?? "";
    if (name === "" || dev) continue;
    rows.set(`${name} ${version}`, license ?? (await ownLicence(path)));
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const counts = new Map<string, number>();
  for (const [, licence] of sorted) counts.set(licence, (counts.get(licence) ?? 0) + 1);
  const most = [...counts].toSorted(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return [
    "# Licences",
    "",
    "Of every package that production installs. Written by `npm run licences` from the lock file: change that, not this page.",
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

async function ownLicence(path: string): Promise<string> {
  const text = await readFile(join(root, path, "package.json"), "utf8").catch(() => "{}");
  const { license, licenses } = JSON.parse(text) as {
    license?: string | { type: string };
    licenses?: { type: string }[];
  };
  const named = typeof license === "string" ? license : license?.type;
  return named ?? licenses?.map(({ type }) => type).join(" OR ") ?? "not stated";
}

if (import.meta.main) await writeFile(join(root, "docs", "licences.md"), await licencesPage());
