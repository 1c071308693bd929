import { createRequire, enableCompileCache, registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { GraphQLID } from "graphql";
import Runtime from "jest-runtime";
import { compileCache } from "../environment.ts";
import { setGlobals } from "./globals.js";

const require = createRequire(import.meta.url);

enableCompileCache(compileCache.NODE_COMPILE_CACHE);

// Outside jest's own module loader `@jest/globals` only throws.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "@jest/globals"
      ? { url: new URL("globals.js", import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});

/**
 * Runs test files in Node's own module loader, so that the test files of a worker share their imports. Jest's own runtime
 * evaluates all modules again for each test file.
 */
class NativeRuntime extends Runtime {
  // The service replaces the parsers of this scalar, of which a process has one.
  #id = { parseValue: GraphQLID.parseValue, parseLiteral: GraphQLID.parseLiteral };
  #environment = { ...process.env };

  /** Loads jest-circus again for each test file, without the tests and handlers of the previous file. */
  requireInternalModule(from) {
    Reflect.deleteProperty(require.cache, from);
    Reflect.deleteProperty(globalThis, Symbol.for("EVENT_HANDLERS"));
    Reflect.deleteProperty(globalThis, Symbol.for("TEST_TIMEOUT_SYMBOL"));
    return require(from);
  }

  unstable_shouldLoadAsEsm() {
    return true;
  }

  async unstable_importModule(from) {
    await import(pathToFileURL(from).href);
  }

  setGlobalsForRuntime(globals) {
    setGlobals(globals);
  }

  teardown() {
    for (const name of Object.keys(process.env))
      if (!(name in this.#environment)) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, this.#environment);
    Object.assign(GraphQLID, this.#id);
    super.teardown();
  }
}

export { NativeRuntime as "module.exports" };
