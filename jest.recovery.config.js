import everyday, { recoveryTests } from "./jest.config.js";

/** The files that `npm test` leaves out because they take long. */
export default {
  ...everyday,
  testMatch: recoveryTests.map((file) => `<rootDir>/${file}`),
  testPathIgnorePatterns: ["/node_modules/"],
};
