import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Calls, startCalls } from "../helpers/http/campaignCalls.ts";

let calls: Calls;

beforeAll(async () => {
  calls = await startCalls();
});
afterAll(async () => {
  await calls.service.stop();
});

describe("a DateTime", () => {
  test.each([
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T12:60:00Z",
    "2026-01-01T12:00:60Z",
    "2026-02-30",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-01-31T12:00:00+2500",
    "2026-01-31T12:00:00+25:00",
    "infinity",
    "-infinity",
    "tomorrow",
    "now",
    "epoch",
    "today 12:00",
    "300000-01-01T00:00:00Z",
    "+300000-01-01T00:00:00Z",
    "-0044-03-15T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-00:01",
    "",
    " ",
    1_767_225_600,
    true,
    null,
    ["2026-01-31T12:00:00Z"],
    {},
  ])("cannot be %p", async (scheduledAt) => {
    await calls.expectRefusal(() => calls.createWith({ scheduledAt }), /scheduledAt/, [
      "input",
      "scheduledAt",
    ]);
  });
  test.each([
    ["2026-01-31T12:34:56.789Z", "2026-01-31T12:34:56.789Z"],
    ["2026-01-31T12:34:56Z", "2026-01-31T12:34:56.000Z"],
    ["2024-02-29T23:30:00+02:00", "2024-02-29T21:30:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("can be %s", async (scheduledAt, expected) => {
    const answer = await calls.createWith({ scheduledAt });
    expect(answer.data?.createCampaign.scheduledAt).toBe(expected);
  });
});
