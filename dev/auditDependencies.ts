import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

// `npm run audit:dependencies` fails on high and critical advisories for production dependencies. docs/advisories.json lists
// exceptions with a reason and an expiry date. Passes with a message when the registry cannot be reached.

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

/** Advisories in the output of `npm audit --json` without a valid exception; null if the output is not a report. */
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
  const output = await new Promise<string>((resolve) => {
    execFile(
      "npm",
      ["audit", "--omit=dev", "--json", "--fetch-retries=0", "--fetch-timeout=20000"],
      { cwd: root, maxBuffer: 1e8 },
      (_error, stdout) => resolve(stdout),
    );
  });
  let json: unknown = null;
  try {
    json = JSON.parse(output);
  } catch {
    // Not JSON: reported below as no report.
  }
  const open = openAdvisories(json, excepted, new Date().toISOString().slice(0, 10));
  if (open === null) {
    console.log("SKIPPED: npm audit got no report (the registry cannot be reached, or has none)");
    return 0;
  }
  for (const line of open) console.log(line);
  console.log(
    open.length === 0
      ? "No open advisories."
      : "Update, replace, or add a reasoned exception to docs/advisories.json",
  );
  return open.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
