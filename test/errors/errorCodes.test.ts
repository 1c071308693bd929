import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "@jest/globals";
import { errorCodes, isErrorCode } from "../../src/errors/errorCodes.ts";

test.each(Object.entries(errorCodes))("%s has one sentence for the reference", (_code, entry) => {
  expect(entry.description).toMatch(/^[A-Z][^.]*\.$/);
  expect(entry.status).toBeGreaterThanOrEqual(400);
});

test("SQL raises only codes of the list", () => {
  const folder = path.join(import.meta.dirname, "../../db/logic");
  const raised = readdirSync(folder).flatMap((name) => {
    const text = readFileSync(path.join(folder, name), "utf8");
    return [...text.matchAll(/\{"code": "(\w+)"/g)].map(([, code]) => code);
  });
  expect(raised.length).toBeGreaterThan(1);
  expect(raised.filter((code) => !isErrorCode(code))).toEqual([]);
});
