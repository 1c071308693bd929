import { setImmediate } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { yieldToEventLoop } from "../../src/process/yieldToEventLoop.ts";

test("long steps run one per tick, with other work in between", async () => {
  const seen: string[] = [];
  let left = 3;
  const steps = Array.from({ length: left }, async () => {
    await yieldToEventLoop();
    seen.push("step");
    left--;
  });
  while (left > 0) {
    await setImmediate();
    seen.push("other");
  }
  await Promise.all(steps);
  expect(seen.join(" ")).toMatch(/step( other)+ step( other)+ step/);
});
