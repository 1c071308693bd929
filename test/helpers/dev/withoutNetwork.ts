import { readFileSync, rmSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";

/** Lets the Node processes of a service connect to this machine only. */
export interface WithoutNetwork {
  /** The environment of the first process; the others inherit it. */
  env: Record<string, string>;
  /** The refused connections so far, as the host and the script. */
  refused(): string[];
  /** Fails if a process tried to reach another machine. */
  expectNone(): void;
}

/** @param databaseUrl that of the tests' database, which may be on another machine */
export function withoutNetwork(databaseUrl?: string): WithoutNetwork {
  const file = join(tmpdir(), `refused-${randomUUID()}`);
  const refused = () => {
    try {
      return readFileSync(file, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  return {
    env: {
      NODE_OPTIONS: `--import=${join(import.meta.dirname, "refuseNetwork.ts")}`,
      REFUSED_CONNECTIONS: file,
      ...(databaseUrl === undefined
        ? {}
        : { DATABASE_HOST_OF_TESTS: new URL(databaseUrl).hostname }),
    },
    refused,
    expectNone() {
      // npm asks whether it has a newer version, and starts its script without the answer.
      const found = refused().filter((line) => !/\/npm(-cli\.js)?$/.test(line));
      rmSync(file, { force: true });
      expect(found).toEqual([]);
    },
  };
}
