import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { ConstantOverrides } from "../../src/settings/constants.ts";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { type TestDatabase, createDatabase } from "./database.ts";
import { compileCache, serverHostPort, testDatabaseUrl, testPoolerUrl } from "./environment.ts";
import { poolerSettings } from "./pooler.ts";
import { expectNoSecrets } from "./secrets.ts";

const root = join(import.meta.dirname, "../..");
const officeProcess = join(import.meta.dirname, "officeProcess.ts");

/** An error in a GraphQL response. */
export interface AnswerError {
  message: string;
  path?: (string | number)[];
  locations?: unknown;
  extensions: { code: string; correlationId: string } & Record<string, unknown>;
}

/** A GraphQL response; `data` is untyped, as for a client without generated types. */
export interface Answer {
  status: number;
  headers: Headers;
  // Untyped, because each test states the expected data.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data: any;
  errors?: AnswerError[];
}

/** The options of a request. */
export interface AskOptions {
  token?: string | null;
  variables?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** A server with its database, and a client for it. */
export interface Service {
  url: string;
  database: TestDatabase;
  /** The server's log so far. */
  output(): string;
  ask(query: string, options?: AskOptions): Promise<Answer>;
  /** Creates an active user with exactly these permissions through one role, and a session. */
  login(
    permissions: readonly string[],
    email?: string,
  ): Promise<{ token: string; userId: string; roleId: string }>;
  stop(): Promise<void>;
}

/** A server in a separate process, as in production. */
export interface ServerProcess extends Service {
  process: ChildProcess;
}

/** The options of a service; `database` shares an existing database. */
export interface ServiceOptions {
  /** The file that a server process writes its log to, instead of `output`. */
  logFile?: string;
  env?: Record<string, string>;
  /** Overrides of configuration constants. */
  constants?: ConstantOverrides;
  database?: TestDatabase;
}

/**
 * Starts the real server on a free port, with a separate database.
 * It shares a process with the servers of other test files. {@link startServerProcess} is for tests that kill or
 * signal a server, or that need a second process.
 */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const database = options.database ?? (await createDatabase());
  const socket = connect(serverHostPort, "127.0.0.1");
  socket.setEncoding("utf8");
  const closed = once(socket, "close");
  let output = "";
  const url = await new Promise<string>((resolve, reject) => {
    socket.once("error", reject);
    let known = false;
    socket.on("data", (text: string) => {
      output += text;
      if (known) return;
      const ready = /^\{"(url|error)":.*\}$/m.exec(output);
      if (!ready) return;
      known = true;
      const { url, error } = JSON.parse(ready[0]) as { url?: string; error?: string };
      if (url === undefined) reject(new Error(`the server did not start: ${error}\n${output}`));
      else resolve(url);
    });
    const constants = constantsOf(options);
    const env = environmentOf(database, options);
    socket.write(`${JSON.stringify({ run: "server", env, constants })}\n`);
  });
  return {
    ...clientOf(url, database),
    output: () => output,
    async stop() {
      socket.end();
      await closed;
      if (!options.database) await database.drop();
      expectNoSecrets("the server's log", output);
    },
  };
}

/** Starts the real server as a process, with a separate database. */
export async function startServerProcess(options: ServiceOptions = {}): Promise<ServerProcess> {
  const database = options.database ?? (await createDatabase());
  const constants = JSON.stringify(constantsOf(options));
  const log = options.logFile === undefined ? undefined : openSync(options.logFile, "a");
  const child = spawn(process.execPath, [officeProcess, "server", constants], {
    cwd: root,
    stdio: ["ignore", log ?? "pipe", "pipe", "ipc"],
    env: { PATH: process.env.PATH, ...compileCache, ...environmentOf(database, options) },
  });
  if (log !== undefined) closeSync(log);
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once("exit", (code) => {
      reject(new Error(`the server ended with ${code} instead of starting:\n${output}`));
    });
    child.once("message", (message: { url: string }) => {
      resolve(message.url);
    });
  });
  return {
    ...clientOf(url, database),
    process: child,
    output: () => output,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await ended;
      }
      if (!options.database) await database.drop();
      expectNoSecrets("the server's log", output);
    },
  };
}

/** Raises the queue timeout, because test machines are busy. One test file checks the timeout itself. */
function constantsOf({ constants }: ServiceOptions): ConstantOverrides {
  return { ...constants, load: { waitMs: 60_000, ...constants?.load } };
}

function environmentOf(database: TestDatabase, options: ServiceOptions): Record<string, string> {
  return {
    PORT: "0",
    DATABASE_URL: database.url,
    ...throughPooler(database.url),
    LOG_LEVEL: "info",
    // Some test machines are many times slower than production. Tests of the limit override it.
    DATABASE_STATEMENT_TIMEOUT_MS: "60000",
    // A defect of the SQL-JSON compiler fails the test instead of being answered by Grafast.
    SQL_JSON: process.env.SQL_JSON ?? "strict",
    METRICS_PORT: "off",
    // Tests log in often; tests of the limit override it.
    LOGIN_ATTEMPTS_PER_MINUTE: "100000",
    REQUESTS_PER_MINUTE: "1000000",
    COST_PER_MINUTE: "off",
    // No load balancer has to notice the shutdown.
    SHUTDOWN_DELAY_MS: "0",
    ...options.env,
  };
}

/** With TEST_PGBOUNCER=1, connects through the pooler with more client than server connections. */
function throughPooler(direct: string): Record<string, string> {
  // A test's own proxy before the database stays in place.
  if (testPoolerUrl === "" || new URL(direct).host !== new URL(testDatabaseUrl).host) return {};
  const pooled = new URL(testPoolerUrl);
  pooled.pathname = new URL(direct).pathname;
  return {
    DATABASE_URL: pooled.href,
    DATABASE_OWNER_URL: direct,
    DATABASE_WORKER_URL: direct,
    DATABASE_POOL_SIZE: "60",
    ...poolerSettings,
  };
}

function clientOf(url: string, database: TestDatabase) {
  return {
    url,
    database,
    ask: (query: string, asked: AskOptions = {}) => askAt(url, query, asked),
    login: (permissions: readonly string[], email?: string) =>
      loginWith(database, permissions, email),
  };
}

/** Sends one GraphQL request. */
export async function askAt(url: string, query: string, options: AskOptions = {}): Promise<Answer> {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json",
      ...(options.token ? { authorization: `Bearer ${options.token}` } : {}),
      ...options.headers,
    },
    body: JSON.stringify({ query, variables: options.variables }),
  });
  const body = (await response.json()) as Pick<Answer, "data" | "errors">;
  return { status: response.status, headers: response.headers, ...body };
}

/**
 * Creates an active user with exactly these permissions through one role, and a session.
 * @throws Error for an unknown permission, without which a test of a refusal could not fail
 */
export async function loginWith(
  database: TestDatabase,
  permissions: readonly string[],
  email?: string,
) {
  const token = makeToken("session");
  const name = `role ${randomUUID()}`;
  const { rows } = await database.pool.query<{
    user_id: string;
    role_id: string;
    unknown: string[];
  }>(
    `with u as (insert into users (email, is_active) values ($1, true) returning id),
       r as (insert into roles (name) values ($2) returning id),
       p as (insert into role_permissions (role_id, permission_id)
         select r.id, permissions.id from r, permissions where key = any ($3)),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, r),
       s as (insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
         select u.id, $4, now() + interval '1 hour', now() + interval '1 hour' from u)
     select u.id as user_id, r.id as role_id,
       array(select unnest($3::text[]) except select key from permissions) as unknown
     from u, r`,
    [email ?? `${randomUUID()}@example.com`, name, permissions, hashToken(token)],
  );
  const [row] = rows;
  if (!row) throw new Error("no user was created");
  if (row.unknown.length > 0) throw new Error(`unknown permissions: ${row.unknown.join(", ")}`);
  return { token, userId: row.user_id, roleId: row.role_id };
}
