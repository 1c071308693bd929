import { existsSync } from "node:fs";
import { join } from "node:path";
import { directusShapes } from "./shapes/directus.ts";
import { keystoneShapes } from "./shapes/keystone.ts";
import { postgraphileShapes } from "./shapes/postgraphile.ts";
import type { Shapes } from "./shapes/shape.ts";

/** A server that is compared. */
export interface Contestant {
  /** The program's path from the root: it gets the database's URL and prints its own. */
  file: string;
  /** Its operations when they differ from the published API. */
  shapes?: Shapes;
  /** Whether it belongs to bench/peers, which is installed separately. */
  isPeer?: true;
  /** The program that creates its own database, if any: it gets our URL and the other one. */
  prepare?: string;
}

export const contestants = {
  floor: { file: "bench/compare/floor.ts" },
  postgraphile: { file: "bench/compare/barePostgraphile.ts", shapes: postgraphileShapes },
  mercurius: { file: "bench/compare/mercurius.ts" },
  apollo: { file: "bench/compare/apollo.ts" },
  yoga: { file: "bench/peers/yoga.ts", isPeer: true },
  directus: {
    file: "bench/peers/directus.ts",
    shapes: directusShapes,
    isPeer: true,
    prepare: "bench/peers/prepareDirectus.ts",
  },
  keystone: {
    file: "bench/peers/keystone.ts",
    shapes: keystoneShapes,
    isPeer: true,
    prepare: "bench/peers/prepareKeystone.ts",
  },
  service: { file: "src/server.ts" },
} satisfies Record<string, Contestant>;

export type ContestantName = keyof typeof contestants;

/** The contestants with these names, in order. Throws with advice when one is unknown or not installed. */
export function contestantsNamed(names: readonly string[]): ContestantName[] {
  const isKnown = (name: string): name is ContestantName => Object.hasOwn(contestants, name);
  return names.map((name) => {
    if (!isKnown(name))
      throw new Error(
        `There is no ${name}. Those to choose from: ${Object.keys(contestants).join(", ")}.`,
      );
    const contestant: Contestant = contestants[name];
    const packages = join(import.meta.dirname, "../peers/node_modules");
    if (contestant.isPeer && !existsSync(packages))
      throw new Error(`For ${name}, install the peers first: npm ci --prefix bench/peers`);
    return name;
  });
}
