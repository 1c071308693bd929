import { expect, test } from "@jest/globals";
import { withoutNull } from "../../../src/schema/rowNames.ts";

test.each([
  ["The author; null for a page.", "The author; empty for a page."],
  ["The owner. Null without one.", "The owner. Empty without one."],
  ["The purpose; null clears it.", "The purpose; an empty field clears it."],
  ["The format. Null means CSV.", "The format. An empty field means CSV."],
  ["endsOn cannot be null", "endsOn cannot be empty"],
  ["Use `is null` in SQL; NULL otherwise.", "Use `is null` in SQL; empty otherwise."],
  ["An annulled order of Nullarbor.", "An annulled order of Nullarbor."],
])("writes %j as %j", (text, written) => {
  expect(withoutNull(text)).toBe(written);
});
