import { expect, test } from "@jest/globals";
import { systemPrompt } from "../../src/assistant/prompt.ts";

test("the prompt says the day and the time in the user's time zone, and the locale", () => {
  const now = new Date("2026-07-31T22:30:00Z");
  const danish = systemPrompt(now, { timeZone: "Europe/Copenhagen", locale: "da-DK" });
  expect(danish).toContain(
    "It is Saturday, 2026-08-01 00:30, in the user's time zone, Europe/Copenhagen:",
  );
  expect(danish).toContain("in the form of the user's locale, da-DK.");
  expect(systemPrompt(now, { timeZone: "America/New_York", locale: "en-US" })).toContain(
    "It is Friday, 2026-07-31 18:30",
  );
});
