import everyday from "./jest.config.js";

/**
 * The GraphQL tests of reads, whose server here answers without the SQL-JSON path. Files that ask no server are left out, and
 * those whose subject is a function of the database, a login or a permission, which both paths leave to PostgreSQL.
 */
export default {
  ...everyday,
  testMatch: ["<rootDir>/test/graphql/*.test.ts"],
  testPathIgnorePatterns: [
    "/node_modules/",
    "/(cost|cursorValues|documents|guardsOff|jsonSize|measure|sqlJson|variableErrors|variables)\\.test\\.ts$",
    "/(absences|bookingSeries|documentation|erasure|notifications|resourceBookings|restore|restoreAll)\\.test\\.ts$",
    "/(apiTokenLists|apiTokens|guardMatrix|invitations|lastSuperadmin|lockOut|loginOptions|roles|sessions)\\.test\\.ts$",
    "/(escalation|escalationByToken|erpMappingRules|erpSyncRuns|jobs|scopedSync|syncProducts)\\.test\\.ts$",
    "/(argumentPaths|auditTrail|console|masterData|names|suggestions|triggerProductSync)\\.test\\.ts$",
  ],
};
