import { availableParallelism } from "node:os";

/** Long tests of recovery from killed processes and lost connections, run by `npm run test:recovery` and in CI. */
export const recoveryTests = [
  "test/dev/postgresCrash.test.ts",
  "test/exports/fileStore.test.ts",
  "test/exports/longExports.test.ts",
  "test/exports/survival.test.ts",
  "test/migration/rolling.test.ts",
  "test/workers/erpFaults.test.ts",
  "test/workers/erpKills.test.ts",
  "test/workers/survival.test.ts",
];

/** Jest on the real PostgreSQL: see test/helpers. */
export default {
  testMatch: ["<rootDir>/test/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", ...recoveryTests.map((file) => `<rootDir>/${file}$`)],
  transform: {},
  runtime: "<rootDir>/test/helpers/jest/nativeRuntime.js",
  extensionsToTreatAsEsm: [".ts"],
  globalSetup: "<rootDir>/test/helpers/globalSetup.js",
  globalTeardown: "<rootDir>/test/helpers/globalTeardown.js",
  testSequencer: "<rootDir>/test/helpers/longestFirst.js",
  // For machines that are slow or busy: a test that hangs is the only one that waits so long.
  testTimeout: 360_000,
  // Much of what tests do is to wait: for a server to start, for a job to be tried again, for a database to come back.
  maxWorkers: Math.min(8, Math.max(4, availableParallelism())),
  // Modules of a test file stay in a worker's memory after it; a worker beyond this is replaced.
  workerIdleMemoryLimit: "700MB",
};
