import { describe, expect, test } from "@jest/globals";
import { pageSlug } from "../../../admin/src/ui/pageSlug.ts";

describe("the handbook page of a link", () => {
  test.each(["leave-rules", "leave-rules#part", "./leave-rules", "./leave-rules#part"])(
    "is found for %s",
    (href) => {
      expect(pageSlug(href)).toBe("leave-rules");
    },
  );

  test.each(["https://example.com/leave-rules", "/leave-rules", "../leave-rules", "#part", ""])(
    "is null for %j",
    (href) => {
      expect(pageSlug(href)).toBeNull();
    },
  );
});
