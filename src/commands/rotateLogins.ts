import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import pg from "pg";
import type { Config } from "../config.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { openClient } from "../postgres/pools.ts";
import {
  type ProcessRole,
  enableLoginSql,
  nextLogin,
  recordMadeSql,
  successorsOf,
  loginsOf,
  roleOfLogin,
} from "../postgres/logins.ts";
import { writeSettingsFile } from "./writeSettingsFile.ts";

// All statements read the catalogue.
const responseTimeoutMs = 60_000;

/** The addresses of all processes, the login of each role in them, and the owner's login. */
function loginsIn({ database: { url, replica, workerUrl, ownerUrl } }: Config) {
  if (url === undefined || ownerUrl === undefined)
    throw new OperatorError(
      "DATABASE_URL and DATABASE_OWNER_URL must be set: the first has the login to replace, the second may replace it",
    );
  const addresses: { setting: string; address: URL; role: ProcessRole }[] = [];
  const logins = new Map<ProcessRole, string>();
  for (const [setting, given] of [
    ["DATABASE_URL", url],
    ["DATABASE_REPLICA_URL", replica?.url],
    ["DATABASE_WORKER_URL", workerUrl === url ? undefined : workerUrl],
  ] as const) {
    if (given === undefined) continue;
    const address = new URL(given);
    const login = decodeURIComponent(address.username);
    const role = roleOfLogin(login);
    if (role === null)
      throw new OperatorError(
        `${setting} logs in as ${login || "nobody"}: only logins of office_server and office_worker are replaced here`,
      );
    const other = logins.get(role) ?? login;
    if (other !== login)
      throw new OperatorError(
        `${setting} logs in as ${login}, another setting as ${other}: both must use the same login`,
      );
    logins.set(role, login);
    addresses.push({ setting, address, role });
  }
  return { addresses, logins, ownerUrl };
}

/**
 * Creates the next logins of server and worker. The present ones stay until `endLogins`, so that processes can restart
 * one by one. Resolves with the text to print.
 * @throws OperatorError when the settings do not allow it, or an earlier rotation is not finished
 */
export async function rotateLogins(config: Config, file: string | undefined): Promise<string> {
  const { addresses, logins, ownerUrl } = loginsIn(config);
  return withOwner(ownerUrl, async (owner) => {
    const open = await openLogins(owner);
    const made = new Map<ProcessRole, { login: string; password: string }>();
    for (const [role, login] of logins) {
      const next = nextLogin(login, role);
      if (open.includes(next))
        throw new OperatorError(
          `${next} can log in as well, from an earlier rotation: end the unused logins with --finish first`,
        );
      made.set(role, { login: next, password: randomBytes(32).toString("base64url") });
    }
    const lines = addresses.map(({ setting, address, role }) => {
      address.username = made.get(role)?.login ?? "";
      address.password = made.get(role)?.password ?? "";
      return `${setting}=${address.href}`;
    });
    await writeSettingsFile(file, lines);
    // The comment tells the newer of two logins: `--finish` never ends that one.
    const statements = [...made].flatMap(([role, { login, password }]) => [
      enableLoginSql(login, role, password),
      recordMadeSql(login),
    ]);
    try {
      // One message is one transaction.
      await owner.query(statements.join(";\n"));
    } catch (error) {
      // A database error means that nothing changed. After a lost connection the outcome is unknown, and the file may
      // be needed.
      if (error instanceof pg.DatabaseError) await rm(file ?? "", { force: true });
      throw error;
    }
    const [before, now] = [[...logins.values()], [...made.values()].map(({ login }) => login)].map(
      (all) => all.join(" and "),
    );
    return `${now} can log in now, beside ${before}. Restart the processes one by one with the settings of ${file}; then end ${before} with those settings: keys:rotate -- database --finish`;
  });
}

/**
 * Ends the logins that the settings no longer name. Resolves with the text to print.
 * @throws OperatorError while one of them has a session
 */
export async function endLogins(config: Config): Promise<string> {
  const { logins, ownerUrl } = loginsIn(config);
  return withOwner(ownerUrl, async (owner) => {
    const open = await openLogins(owner);
    const wrong = [...logins.values()].filter((login) => !open.includes(login));
    if (wrong.length > 0)
      throw new OperatorError(
        `${wrong.join(" and ")} cannot log in: these settings are not those in use`,
      );
    const ending = [...logins].flatMap(([role, login]) =>
      loginsOf(role).filter((other) => other !== login && open.includes(other)),
    );
    const newer: string[] = [];
    for (const [role, login] of logins) newer.push(...(await successorsOf(owner, login, role)));
    if (newer.length > 0)
      throw new OperatorError(
        `${newer.join(" and ")} replaced a login of these settings: run the command with all settings that keys:rotate wrote`,
      );
    const inUse = await connectionsOf(owner, ending);
    const { replica } = config.database;
    if (replica !== null) {
      const standby = await openClient(replica.url, responseTimeoutMs);
      inUse.push(...(await connectionsOf(standby, ending).finally(() => standby.end())));
    }
    if (inUse.length > 0)
      throw new OperatorError(
        `${inUse.map(({ login, count }) => `${login} has ${count} connections`).join(", ")}: restart the processes that still use it, and wait until a pooler has closed its connections`,
      );
    if (ending.length === 0) return "There is no login to end";
    await owner.query(
      ending
        .map((login) => `alter role ${pg.escapeIdentifier(login)} nologin password null`)
        .join("; "),
    );
    return `${ending.join(" and ")} can no longer log in`;
  });
}

/** Runs `work` on a connection that may change logins. */
async function withOwner<T>(url: string, work: (owner: pg.Client) => Promise<T>): Promise<T> {
  const owner = await openClient(url, responseTimeoutMs);
  try {
    return await work(owner);
  } finally {
    await owner.end();
  }
}

/** The numbers of connections of logins at one server. */
async function connectionsOf(client: pg.Client, logins: readonly string[]) {
  const { rows } = await client.query<{ login: string; count: number }>(
    "select usename as login, count(*)::integer as count from pg_stat_activity where usename = any ($1) group by 1 order by 1",
    [logins],
  );
  return rows;
}

/** The logins of this service that can log in. */
async function openLogins(owner: pg.Client): Promise<string[]> {
  const all = [...loginsOf("office_server"), ...loginsOf("office_worker")];
  const { rows } = await owner.query<{ login: string }>(
    "select rolname as login from pg_roles where rolcanlogin and rolname = any ($1)",
    [all],
  );
  return rows.map(({ login }) => login);
}
