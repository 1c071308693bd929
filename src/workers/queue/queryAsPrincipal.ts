import type { JobHelpers } from "graphile-worker";
import pg from "pg";
import type { JobScope } from "./ownership.ts";

/** The user or token whose permissions a job reads with, under row-level security. */
export interface JobPrincipal {
  userId: string;
  tokenId: string | null;
  permissions: readonly string[];
  scoped: boolean;
}

// A read may wait for its consumer, such as the file store; a paused process must not keep its snapshot open forever.
const maxIdleMs = 5 * 60_000;

/**
 * Runs `read` in one read-only transaction with a single snapshot, as the request role with the principal's
 * permissions. It holds a connection until `read` ends, and does not check whether this worker still owns the job.
 */
export function queryAsPrincipal<T>(
  helpers: Pick<JobHelpers, "withPgClient">,
  scope: JobScope,
  principal: JobPrincipal,
  read: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  return helpers.withPgClient(async (client) => {
    await client.query("begin isolation level repeatable read, read only");
    try {
      const settings: Record<string, string> = {
        search_path: `${pg.escapeIdentifier(scope.tenant)}, extensions, pg_temp`,
        // Reads run one cheap statement for many rows, where compilation costs more than it saves.
        jit: "off",
        idle_in_transaction_session_timeout: String(maxIdleMs),
        "office.user_id": principal.userId,
        "office.session_id": "",
        "office.token_id": principal.tokenId ?? "",
        "office.permissions": principal.permissions.join(","),
        "office.scoped": String(principal.scoped),
        "office.correlation_id": scope.correlationId ?? "",
        "office.source": "job",
      };
      await client.query("select set_config(key, value, true) from json_each_text($1)", [
        JSON.stringify(settings),
      ]);
      await client.query("set local role office_api");
      return await read(client);
    } finally {
      // Nothing was written; on a broken connection the server rolls back.
      await client.query("rollback").catch(() => undefined);
    }
  });
}
