import everyday from "./jest.config.js";

/** The programs and packages that the production image has, without a container. */
export default {
  ...everyday,
  testMatch: ["<rootDir>/test/production/**/*.production.ts"],
  // The one file starts a PostgreSQL for itself.
  globalSetup: undefined,
  globalTeardown: undefined,
  maxWorkers: 1,
};
