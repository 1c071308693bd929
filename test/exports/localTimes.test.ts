import { expect, test } from "@jest/globals";
import { localTimes } from "../../src/exports/localTimes.ts";

test.each([
  ["Europe/Copenhagen", "2026-03-29T00:59:59Z", "2026-03-29T01:59:59.000Z"],
  ["Europe/Copenhagen", "2026-03-29T01:00:00Z", "2026-03-29T03:00:00.000Z"],
  ["Europe/Copenhagen", "2026-10-25T00:59:59Z", "2026-10-25T02:59:59.000Z"],
  ["Europe/Copenhagen", "2026-10-25T01:00:00Z", "2026-10-25T02:00:00.000Z"],
  ["Asia/Kathmandu", "2026-01-01T00:00:00Z", "2026-01-01T05:45:00.000Z"],
  ["America/St_Johns", "2026-01-01T00:00:00Z", "2025-12-31T20:30:00.000Z"],
  ["UTC", "2026-01-01T00:00:00.001Z", "2026-01-01T00:00:00.001Z"],
])("the local time in %s at %s is %s", (zone, moment, local) => {
  expect(localTimes(zone)(new Date(moment)).toISOString()).toBe(local);
});
