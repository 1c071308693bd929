import type { GraphQLSchema } from "graphql";
import type pg from "pg";
import { describeNamingConflict } from "./namingConflict.ts";
import { buildApi } from "./printApi.ts";
import { ApiError } from "./refusals.ts";

/**
 * Builds the API from a tenant's state in the client's transaction.
 * @throws ApiError when a server could not start, for example because a tag names a missing column
 */
export async function checkApi(client: pg.ClientBase, tenant: string): Promise<GraphQLSchema> {
  try {
    return await buildApi(poolOf(client), tenant);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason = message.startsWith("A type naming conflict")
      ? `${message.trim()}\n  Give the new one another name by the tag \`@name\`.`
      : (describeNamingConflict(message) ?? message);
    throw new ApiError(
      `No API can be built from this schema; nothing was changed:\n  - ${reason}`,
      {
        cause: error,
      },
    );
  }
}

/** A pool with the client as its only connection. Its transactions become savepoints that are rolled back. */
function poolOf(client: pg.ClientBase): pg.Pool {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const within = Object.create(client) as pg.PoolClient;
  within.query = ((...args: unknown[]) => {
    const [first] = args;
    const text = typeof first === "string" ? first : ((first as { text?: string }).text ?? "");
    const word = /^(begin|commit|rollback);?$/i.exec(text)?.[1]?.toLowerCase();
    if (word === undefined) return query(...args);
    return query(word === "begin" ? "savepoint api" : "rollback to savepoint api");
  }) as pg.PoolClient["query"];
  within.release = () => {};
  return { connect: () => Promise.resolve(within), on: () => {}, off: () => {} } as never;
}
