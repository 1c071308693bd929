/** Jest on the real PostgreSQL: see test/helpers. */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  transform: { "^.+\\.ts$": "<rootDir>/test/helpers/stripTypes.js" },
  extensionsToTreatAsEsm: [".ts"],
  globalSetup: "<rootDir>/test/helpers/globalSetup.js",
  globalTeardown: "<rootDir>/test/helpers/globalTeardown.js",
  testTimeout: 30_000,
  maxWorkers: 2,
};
