import pg from "pg";
import { roleOfLogin } from "./postgres/logins.ts";
import { traceSql } from "./telemetry/traceSql.ts";
import { tracing } from "./telemetry/tracing.ts";

/**
 * A pool whose connections act as `role`. Logins of the role act as it by themselves; one of another name, such as the one
 * administrator of a development machine, takes the role as it connects and must be allowed to. `max` counts connections.
 *
 * Connections that break, idle or in use, never end the process: whoever uses one next gets the error.
 */
export function poolFor(
  url: string,
  role: string,
  max: number,
  settings: pg.PoolConfig = {},
): pg.Pool {
  const pool = new pg.Pool({
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    application_name: role,
    ...settings,
    connectionString: asRole(url, role),
    max,
  });
  if (tracing()) traceSql(pool);
  pool.on("error", ignore);
  pool.on("connect", (client) => client.on("error", ignore));
  return pool;
}

/** The error reaches the user of the connection as well; without a listener it would end the process. */
function ignore(): void {
  return;
}

function asRole(url: string, role: string): string {
  const address = new URL(url);
  const login = decodeURIComponent(address.username);
  if (login === role || roleOfLogin(login) === role) return url;
  // In the address, since what stands there goes before the pool's own `options`.
  const options = [address.searchParams.get("options"), `-c role=${role}`];
  address.searchParams.set("options", options.filter(Boolean).join(" "));
  return address.href;
}
