import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { context, lambda } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { makeCatalogue } from "../schema/consoleCatalogue.ts";
import type { CatalogueEntity } from "../schema/consoleEntity.ts";
import { consoleTypeDefs } from "../schema/consoleTypeDefs.ts";
import { openCatalogue } from "../schema/openCatalogue.ts";
import { resource } from "../schema/resource.ts";

declare global {
  namespace GraphileBuild {
    interface Build {
      /** The tables with a list at the root; filled when the schema is complete. */
      consoleCatalogue: { entities: CatalogueEntity[]; version: string };
    }
  }
}

/** The number of cached catalogues, one for each set of permissions. */
const keptCallers = 200;

/** Builds the catalogue when the schema is complete. */
export const ConsoleCataloguePlugin: GraphileConfig.Plugin = {
  name: "ConsoleCataloguePlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        return build.extend(
          build,
          { consoleCatalogue: { entities: [], version: "" } },
          "ConsoleCataloguePlugin: what `console` describes",
        );
      },
      finalize(schema, build) {
        const entities = makeCatalogue(build, schema);
        build.consoleCatalogue.entities = entities;
        build.consoleCatalogue.version = digest(entities);
        return schema;
      },
    },
  },
};

function digest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 16);
}

type Caller = Pick<RequestInfo, "identity" | "hasToken">;

/** The query `console`, derived from comments, tags, keys and grants. */
export function makeConsolePlugin({ title }: { title: string }): GraphileConfig.Plugin {
  return extendSchema((build) => {
    const users = resource(build, "users");
    const answers = new LRUCache<string, ReturnType<typeof answerFor>>({ max: keptCallers });

    const answerFor = (caller: Caller, permissions: readonly string[]) => {
      const content = {
        title,
        me: { permissions },
        ...openCatalogue(build.consoleCatalogue.entities, caller),
      };
      return { ...content, version: digest(content) };
    };

    const answer = (caller: Caller) => {
      const permissions = [...(caller.identity?.permissions ?? [])].toSorted();
      const isSession = caller.identity?.sessionId !== null;
      const key = [build.consoleCatalogue.version, isSession, ...permissions].join(" ");
      const found = answers.get(key) ?? answerFor(caller, permissions);
      answers.set(key, found);
      // Includes the user, so that a browser does not reuse the cached catalogue of the previous user.
      return { ...found, version: digest([found.version, caller.identity?.userId]) };
    };

    return {
      typeDefs: consoleTypeDefs,
      objects: {
        Query: {
          plans: {
            console(_$root: Step, args: FieldArgs) {
              const $ifNot = args.getRaw("ifNot") as Step<string | null | undefined>;
              return lambda([context().get("requestContext"), $ifNot], ([caller, ifNot]) => {
                const found = answer(caller);
                return found.version === ifNot ? null : found;
              });
            },
          },
        },
        ConsoleUser: {
          plans: {
            user() {
              const $id = lambda(
                context().get("requestContext"),
                ({ identity }: Caller) => identity?.userId ?? null,
              );
              return users.get({ id: $id });
            },
          },
        },
      },
    };
  }, "ConsolePlugin");
}
