import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { openAdvisories } from "../../dev/auditDependencies.ts";
import { licencesPage } from "../../dev/licences.ts";

const docs = join(import.meta.dirname, "../../docs");

test("docs/licences.md names every package that production installs", async () => {
  const page = await licencesPage();
  expect(await readFile(join(docs, "licences.md"), "utf8")).toBe(page);
  expect(page).toMatch(/^\| postgraphile [\d.]+ \| MIT \|$/m);
});

test("no production package has a copyleft licence or none", async () => {
  const rows = (await licencesPage()).split("\n").filter((line) => /^\| \S+ \d\S* \|/.test(line));
  const bound = rows.filter(
    (line) => /\bA?GPL|not stated|UNLICENSED/.test(line) && !/\bOR\b/.test(line),
  );
  expect(rows.length).toBeGreaterThan(100);
  expect(bound).toEqual([]);
});

test("advisories of severity high and above count unless an unexpired exception covers them", async () => {
  const advisory = (id: string, severity: string) => ({
    url: `https://github.com/advisories/${id}`,
    title: "Bad",
    severity,
  });
  const report = {
    vulnerabilities: {
      a: { severity: "high", via: [advisory("GHSA-aaaa-bbbb-cccc", "high"), "b"] },
      b: {
        severity: "critical",
        via: [
          advisory("GHSA-dddd-eeee-ffff", "critical"),
          advisory("GHSA-gggg-hhhh-iiii", "moderate"),
        ],
      },
    },
  };
  const excepted = [
    {
      advisory: "GHSA-aaaa-bbbb-cccc",
      reason: "The function in question is never called here",
      until: "2026-12-31",
    },
  ];
  expect(openAdvisories(report, excepted, "2026-11-21")).toEqual([
    "GHSA-dddd-eeee-ffff critical: b: Bad",
  ]);
  expect(openAdvisories(report, excepted, "2027-01-01")).toHaveLength(2);
  expect(openAdvisories({ error: { code: "ENOTFOUND" } }, excepted, "2026-11-21")).toBeNull();
  const own: unknown = JSON.parse(await readFile(join(docs, "advisories.json"), "utf8"));
  expect(openAdvisories({ vulnerabilities: {} }, own, "2026-11-21")).toEqual([]);
});
