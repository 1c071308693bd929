import everyday from "./jest.config.js";

/** The long forms, one file after the other: each has a fleet of processes. */
export default {
  ...everyday,
  testMatch: [
    "<rootDir>/test/faults/**/*.fault.ts",
    "<rootDir>/test/graphql/sqlJson.test.ts",
    "<rootDir>/test/http/identity.test.ts",
    "<rootDir>/test/workers/erpKills.test.ts",
    "<rootDir>/test/workers/erpFaults.test.ts",
  ],
  maxWorkers: 1,
};
