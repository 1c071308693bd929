import type { JobHelpers } from "graphile-worker";
import pg from "pg";
import type { JobPlace } from "./ownership.ts";

/** On whose behalf a job reads: with these permissions, under row-level security. */
export interface JobPrincipal {
  userId: string;
  tokenId: string | null;
  permissions: readonly string[];
  scoped: boolean;
}

// A reader waits for what takes its rows, such as the file store; frozen with its snapshot it must not stay for ever.
const longestPauseMs = 5 * 60_000;

/**
 * Runs `read` in one read-only transaction in the job's tenant, in which the database stands still, as the request role with the
 * reader's rights. It holds a connection for its time; whether the job is still this worker's is not asked.
 */
export function queryAsPrincipal<T>(
  helpers: Pick<JobHelpers, "withPgClient">,
  place: JobPlace,
  reader: JobPrincipal,
  read: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  return helpers.withPgClient(async (client) => {
    await client.query("begin isolation level repeatable read, read only");
    try {
      const settings: Record<string, string> = {
        search_path: `${pg.escapeIdentifier(place.tenant)}, extensions, pg_temp`,
        // What is read are many rows by a statement that is quickly run for each.
        jit: "off",
        idle_in_transaction_session_timeout: String(longestPauseMs),
        "office.user_id": reader.userId,
        "office.session_id": "",
        "office.token_id": reader.tokenId ?? "",
        "office.permissions": reader.permissions.join(","),
        "office.scoped": String(reader.scoped),
        "office.correlation_id": place.correlationId ?? "",
        "office.source": "job",
      };
      await client.query("select set_config(key, value, true) from json_each_text($1)", [
        JSON.stringify(settings),
      ]);
      await client.query("set local role office_api");
      return await read(client);
    } finally {
      // Nothing was written; a broken connection is rolled back by the server.
      await client.query("rollback").catch(() => undefined);
    }
  });
}
