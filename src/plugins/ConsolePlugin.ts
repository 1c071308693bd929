import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { context, lambda } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import type { RequestInfo } from "../auth/identity.ts";
import { buildConsoleMetadata } from "../schema/consoleMetadata.ts";
import type { ConsoleEntity, ConsoleReport } from "../schema/consoleEntity.ts";
import { consoleTypeDefs } from "../schema/consoleTypeDefs.ts";
import { filterConsoleMetadata } from "../schema/filterConsoleMetadata.ts";
import { resource } from "../schema/resource.ts";

declare global {
  namespace GraphileBuild {
    interface Build {
      /** The tables with a list at the root, and the reports; filled when the schema is complete. */
      consoleMetadata: { entities: ConsoleEntity[]; reports: ConsoleReport[]; version: string };
    }
  }
}

/** The number of cached metadata objects, one for each set of permissions. */
const maxCachedPermissionSets = 200;

/** Builds the metadata of the console when the schema is complete. */
export const ConsoleMetadataPlugin: GraphileConfig.Plugin = {
  name: "ConsoleMetadataPlugin",
  version: "1.0.0",
  schema: {
    hooks: {
      build(build) {
        return build.extend(
          build,
          { consoleMetadata: { entities: [], reports: [], version: "" } },
          "ConsoleMetadataPlugin: what `console` describes",
        );
      },
      finalize(schema, build) {
        const { entities, reports } = buildConsoleMetadata(build, schema);
        build.consoleMetadata.entities = entities;
        build.consoleMetadata.reports = reports;
        build.consoleMetadata.version = digest([entities, reports]);
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
export function makeConsolePlugin({
  title,
  imageHosts,
}: {
  title: string;
  imageHosts: readonly string[];
}): GraphileConfig.Plugin {
  return extendSchema((build) => {
    const users = resource(build, "users");
    const answers = new LRUCache<string, ReturnType<typeof answerFor>>({
      max: maxCachedPermissionSets,
    });

    const answerFor = (caller: Caller, permissions: readonly string[]) => {
      const content = {
        title,
        imageOrigins: imageHosts,
        me: { permissions },
        ...filterConsoleMetadata(build.consoleMetadata, caller),
      };
      return { ...content, version: digest(content) };
    };

    const answer = (caller: Caller) => {
      const permissions = [...(caller.identity?.permissions ?? [])].toSorted();
      const isSession = caller.identity?.sessionId !== null;
      const key = [build.consoleMetadata.version, isSession, ...permissions].join(" ");
      const found = answers.get(key) ?? answerFor(caller, permissions);
      answers.set(key, found);
      // Includes the user, so that a browser does not reuse the cached metadata of the previous user.
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
