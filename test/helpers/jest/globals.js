import { ModuleMocker } from "jest-mock";

/* What test files import from `@jest/globals`: see nativeRuntime.js. */

let current;

/**
 * Calls the function of the running test file. Helpers keep these, and what belongs to them such as `test.skip`, from the
 * test file that imported them first; its own functions would declare tests that never run.
 */
const delegate = (find) =>
  new Proxy(() => {}, {
    apply: (_target, self, args) => Reflect.apply(find(), self, args),
    get: (_target, key) =>
      typeof find()[key] === "function" ? delegate(() => find()[key]) : find()[key],
  });
const ofTestFile = (name) => delegate(() => current[name]);

export const afterAll = ofTestFile("afterAll");
export const afterEach = ofTestFile("afterEach");
export const beforeAll = ofTestFile("beforeAll");
export const beforeEach = ofTestFile("beforeEach");
export const describe = ofTestFile("describe");
export const expect = ofTestFile("expect");
export const it = ofTestFile("it");
export const test = ofTestFile("test");

const mocker = new ModuleMocker(globalThis);

export const jest = {
  setTimeout(milliseconds) {
    globalThis[Symbol.for("TEST_TIMEOUT_SYMBOL")] = milliseconds;
  },
  spyOn: mocker.spyOn.bind(mocker),
};

/** Called before each test file. */
export function setGlobals(globals) {
  current = globals;
}
