import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type pg from "pg";
import { hashToken, makeToken } from "../../src/auth/tokens.ts";
import { nodeFlags } from "../../src/process/heap.ts";
import { freePort } from "../../test/helpers/http.ts";

const root = join(import.meta.dirname, "../..");

/** Settings that production requires besides a database; no measured request uses them. */
const productionEnv = {
  NODE_ENV: "production",
  GRAPHILE_ENV: "production",
  OIDC_PROVIDERS: JSON.stringify([
    { id: "main", name: "Main", issuer: "https://login.example", clientId: "office" },
  ]),
  ALLOWED_RETURN_URLS: "https://office.example/app",
  S3_ENDPOINT: "https://127.0.0.1:9",
  S3_ACCESS_KEY_ID: "none",
  S3_SECRET_ACCESS_KEY: "none",
  TYPESENSE_URL: "https://127.0.0.1:9",
  TYPESENSE_API_KEY: "none-of-the-real-ones",
};

/** Starts a program in production mode on a database, without rate limits. */
export async function launch(
  file: string,
  url: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ChildProcess> {
  const port = String(await freePort());
  return spawn(process.execPath, [...flagsOf(file), file, ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    env: {
      ...productionEnv,
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compile"),
      PORT: port,
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      DATABASE_URL: url,
      LOG_LEVEL: "warn",
      METRICS_PORT: "off",
      REQUESTS_PER_MINUTE: "off",
      COST_PER_MINUTE: "off",
      // No request is rejected at any number of connections.
      MAX_QUEUED_REQUESTS: "1000",
      ...env,
    },
  });
}

/** Our server has its own flags. Others get the same share of processors and otherwise V8's defaults. */
function flagsOf(file: string): readonly string[] {
  return file.startsWith("src/") ? nodeFlags : ["--v8-pool-size=1"];
}

/** The first message that a process sends. */
export function messageOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`the process ended with ${code}`)));
    child.once("message", (message) => resolve(message as T));
  });
}

/** Stops a process and waits for its exit. */
export async function end(child: ChildProcess): Promise<void> {
  child.removeAllListeners("exit");
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Creates a session of a new user with all permissions. */
export async function openSession(admin: pg.Client): Promise<string> {
  const token = makeToken("session");
  await admin.query(
    `with u as (insert into users (email, name, is_active) values ($1, 'Bench', true) returning id),
       ur as (insert into user_roles (user_id, role_id) select u.id, r.id from u, roles r where r.is_system and r.name = 'Superadmin')
     insert into sessions (user_id, token_hash, idle_expires_at, expires_at)
     select u.id, $2, now() + interval '1 day', now() + interval '1 day' from u`,
    [`bench-${randomUUID()}@example.com`, hashToken(token)],
  );
  return token;
}
