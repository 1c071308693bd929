import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

// `npm run audit:dependencies`: known advisories, high and critical, against what production installs. Exceptions stand, with their
// reasons and a date after which they count no more, in docs/advisories.json. Without the registry it says so, and passes.

const root = join(import.meta.dirname, "..");
const exceptions = z.array(
  z.strictObject({
    advisory: z.string().regex(/^GHSA(-\w{4}){3}$/),
    reason: z.string().min(20),
    until: z.iso.date(),
  }),
);
const report = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      via: z.array(
        z.union([
          z.string(),
          z.object({ url: z.string(), title: z.string(), severity: z.string() }),
        ]),
      ),
    }),
  ),
});

/** The advisories of a report of `npm audit --json` that no exception covers today; null for what is no report. */
export function openAdvisories(json: unknown, excepted: unknown, today: string): string[] | null {
  const parsed = report.safeParse(json);
  if (!parsed.success) return null;
  const known = new Set(
    exceptions
      .parse(excepted)
      .filter(({ until }) => until >= today)
      .map(({ advisory }) => advisory),
  );
  const found = new Map<string, string>();
  for (const [name, { via }] of Object.entries(parsed.data.vulnerabilities))
    for (const one of via) {
      if (typeof one === "string" || !["high", "critical"].includes(one.severity)) continue;
      const id = one.url.split("/").at(-1) ?? one.url;
      if (!known.has(id)) found.set(id, `${id} ${one.severity}: ${name}: ${one.title}`);
    }
  return [...found.values()].toSorted();
}

async function main(): Promise<number> {
  const excepted: unknown = JSON.parse(await readFile(join(root, "docs/advisories.json"), "utf8"));
  const said = await new Promise<string>((resolve) => {
    execFile(
      "npm",
      ["audit", "--omit=dev", "--json", "--fetch-retries=0", "--fetch-timeout=20000"],
      { cwd: root, maxBuffer: 1e8 },
      (_error, stdout) => resolve(stdout),
    );
  });
  let json: unknown = null;
  try {
    json = JSON.parse(said);
  } catch {
    // No report: told below.
  }
  const open = openAdvisories(json, excepted, new Date().toISOString().slice(0, 10));
  if (open === null) {
    console.log("SKIPPED: npm audit got no report (the registry cannot be reached, or has none)");
    return 0;
  }
  for (const line of open) console.log(line);
  console.log(
    open.length === 0
      ? "No advisory that no exception covers."
      : "Update, replace, or add a reasoned exception to docs/advisories.json",
  );
  return open.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
