import { ModuleMocker } from "jest-mock";

/* What test files import from `@jest/globals`: see nativeRuntime.js. */

export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test;

const mocker = new ModuleMocker(globalThis);

export const jest = {
  setTimeout(milliseconds) {
    globalThis[Symbol.for("TEST_TIMEOUT_SYMBOL")] = milliseconds;
  },
  spyOn: mocker.spyOn.bind(mocker),
};

/** Called before each test file. */
export function setGlobals(globals) {
  ({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } = globals);
}
