import everyday, { recoveryTests } from "./jest.config.js";

/** The long forms, one file after the other: each has a fleet of processes. */
export default {
  ...everyday,
  testMatch: [
    "<rootDir>/test/faults/**/*.fault.ts",
    "<rootDir>/test/graphql/sqlJson.test.ts",
    "<rootDir>/test/http/identity.test.ts",
    ...recoveryTests.map((file) => `<rootDir>/${file}`),
  ],
  testPathIgnorePatterns: ["/node_modules/"],
  maxWorkers: 1,
};
