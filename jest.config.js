/** Jest on the real PostgreSQL: see test/helpers. */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      { jsc: { parser: { syntax: "typescript" }, target: "es2024" }, module: { type: "es6" } },
    ],
  },
  extensionsToTreatAsEsm: [".ts"],
  globalSetup: "<rootDir>/test/helpers/globalSetup.js",
  globalTeardown: "<rootDir>/test/helpers/globalTeardown.js",
  testTimeout: 30_000,
  maxWorkers: 2,
};
