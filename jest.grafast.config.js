import everyday from "./jest.config.js";

/** The GraphQL tests that ask a server, which here answers without the SQL-JSON path. Files that ask none are left out. */
export default {
  ...everyday,
  testMatch: ["<rootDir>/test/graphql/*.test.ts"],
  testPathIgnorePatterns: [
    "/node_modules/",
    "/(cost|cursorValues|documents|guardsOff|jsonSize|measure|sqlJson|variableErrors|variables)\\.test\\.ts$",
  ],
};
