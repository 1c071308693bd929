import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { type TestDatabase, createDatabase } from "./database.ts";
import { compileCache } from "./environment.ts";

const root = join(import.meta.dirname, "../..");

/** An error of a GraphQL answer, as clients read it. */
export interface AnswerError {
  message: string;
  path?: (string | number)[];
  locations?: unknown;
  extensions: { code: string; correlationId: string } & Record<string, unknown>;
}

/** A GraphQL answer; `data` is read loosely, as a client without generated types does. */
export interface Answer {
  status: number;
  headers: Headers;
  // A test states what it expects of the data; typing each answer again would only repeat that.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  data: any;
  errors?: AnswerError[];
}

/** How one request differs from a plain one. */
export interface AskOptions {
  token?: string | null;
  variables?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** A server process with its database, and a client for it. */
export interface Service {
  url: string;
  database: TestDatabase;
  process: ChildProcess;
  /** What the process wrote so far: its log. */
  output(): string;
  ask(query: string, options?: AskOptions): Promise<Answer>;
  /** An active user who holds exactly these permissions through one role, with a live session. */
  login(
    permissions: readonly string[],
    email?: string,
  ): Promise<{ token: string; userId: string; roleId: string }>;
  stop(): Promise<void>;
}

/** What a service is started with; `database` shares one that exists. */
export interface ServiceOptions {
  env?: Record<string, string>;
  database?: TestDatabase;
}

/** Starts the real server on a free port, with a database of its own. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const database = options.database ?? (await createDatabase());
  const child = spawn(process.execPath, ["src/server.ts"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env.PATH,
      ...compileCache,
      PORT: "0",
      DATABASE_URL: database.url,
      LOG_LEVEL: "info",
      METRICS_PORT: "off",
      // Tests log in again and again; those of the limit itself empty this, which gives the default.
      LOGIN_ATTEMPTS_PER_MINUTE: "100000",
      REQUESTS_PER_MINUTE: "1000000",
      COST_PER_MINUTE: "off",
      ...options.env,
    },
  });
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

  const ask: Service["ask"] = (query, asked = {}) => askAt(url, query, asked);
  return {
    url,
    database,
    process: child,
    output: () => output,
    ask,
    login: (permissions, email) => loginWith(database, permissions, email),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await ended;
      }
      if (!options.database) await database.drop();
    },
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

async function loginWith(database: TestDatabase, permissions: readonly string[], email?: string) {
  const token = makeToken("session");
  const name = `role ${randomUUID()}`;
  const { rows } = await database.pool.query<{ user_id: string; role_id: string }>(
    `with u as (insert into users (email, is_active) values ($1, true) returning id),
       r as (insert into roles (name) values ($2) returning id),
       p as (insert into role_permissions (role_id, permission_id)
         select r.id, permissions.id from r, permissions where key = any ($3)),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, r),
       s as (insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
         select u.id, $4, now() + interval '1 hour', now() + interval '1 hour' from u)
     select u.id as user_id, r.id as role_id from u, r`,
    [email ?? `${randomUUID()}@example.com`, name, permissions, hashToken(token)],
  );
  const [row] = rows;
  if (!row) throw new Error("no user was made");
  return { token, userId: row.user_id, roleId: row.role_id };
}
