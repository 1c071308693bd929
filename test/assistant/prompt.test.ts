import { expect, test } from "@jest/globals";
import { systemPrompt } from "../../src/assistant/prompt.ts";

test("the prompt says the day and the time in the user's time zone", () => {
  const now = new Date("2026-07-31T22:30:00Z");
  expect(systemPrompt(now, "Europe/Copenhagen")).toContain(
    "It is Saturday, 2026-08-01 00:30, in the user's time zone, Europe/Copenhagen:",
  );
  expect(systemPrompt(now, "America/New_York")).toContain("It is Friday, 2026-07-31 18:30");
});
