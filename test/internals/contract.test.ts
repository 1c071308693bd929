import { expect, test } from "@jest/globals";
import { contractOf, installedVersion, requireMethods } from "../helpers/internals/contract.ts";

const requireThat = contractOf("pg", "src/postgres/wire.ts");

test("names the library, its version and the file when an assertion fails", () => {
  expect(() => requireThat("a client has a socket", false)).toThrow(
    `pg ${installedVersion("pg")} differs: "a client has a socket" does not hold, and src/postgres/wire.ts depends on it (docs/internals.md)`,
  );
});

test("names a missing method", () => {
  expect(() =>
    requireMethods(requireThat, "Query", { prepare: () => undefined }, ["prepare", "submit"]),
  ).toThrow('"Query has a method submit" does not hold');
});
