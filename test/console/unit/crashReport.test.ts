import { expect, test } from "@jest/globals";
import { crashReport } from "../../../admin/src/ui/crashReport.ts";

test("a crash report has the failure and its place, without values of rows", () => {
  const error = new TypeError('"Anna Holm" of anna@example.com is no name');
  error.stack = `TypeError: ${error.message}
    at nameOf (https://office.example/admin/assets/index-1.js?person=Anna:3:14)
    at render (https://office.example/admin/assets/index-1.js:1:2)`;
  const report = crashReport(error, "/$entity/$id");
  expect(report).toMatch(/^TypeError: … of … is no name\npage \/\$entity\/\$id\ntime /);
  expect(report).toContain("at nameOf (https://office.example/admin/assets/index-1.js:3:14)");
  expect(report).not.toMatch(/Anna|example\.com/);
});

test("a crash report describes a thrown value that is no error", () => {
  expect(crashReport("stopped", "/")).toMatch(/^Error: stopped\n/);
});
