import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { migrate } from "../../src/migration/migrate.ts";
import { type Cluster, startCluster } from "../helpers/cluster.ts";
import { runCommand } from "../helpers/commands/run.ts";
import { send } from "../helpers/http.ts";
import { startServerProcess } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
  await migrate(
    {
      ownerUrl: cluster.database.url,
      tenant: "backoffice",
      loginUrls: [as("office_server", "first"), as("office_worker", "first")],
    },
    () => {},
  );
});
afterAll(() => cluster.database.drop());

function as(login: string, password: string): string {
  const address = new URL(cluster.database.url);
  address.username = login;
  address.password = password;
  return address.href;
}

/** Ends the connections of a server whose login the database refuses by now, until the server has noticed. */
async function cutConnections(
  server: { output(): string },
  request: () => Promise<unknown>,
): Promise<void> {
  await cluster.database.pool.query(
    "select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = 'office_server'",
  );
  // The connections that have just closed are an outage as well.
  await waitFor("a refused login in the log", async () => {
    await request();
    return server.output().includes("database login refused");
  });
}

test("a running server answers 503 while the database refuses its login", async () => {
  const { pool, url } = cluster.database;
  const server = await startServerProcess({
    database: { ...cluster.database, url: as("office_server", "first") },
  });
  try {
    const { token } = await server.login(["users.read"]);
    const users = () => server.ask("{ users { id } }", { token });
    expect(await users()).toMatchObject({ status: 200 });
    await pool.query("alter role office_server password 'second'");
    await cutConnections(server, users);
    expect(await users()).toMatchObject({
      status: 503,
      errors: [
        {
          message: "The database cannot be reached: try again in a moment",
          extensions: { code: "UNAVAILABLE" },
        },
      ],
    });
    expect((await send(server.url, { method: "GET", path: "/readyz" })).status).toBe(503);
    expect(server.output()).not.toContain(url);

    await pool.query("alter role office_server password 'first'");
    await waitFor("an answer", async () => (await users()).status === 200);
  } finally {
    await server.stop();
  }
});

test.each([
  ["src/server.ts", []],
  ["src/worker.ts", []],
  ["src/migration/migrate.ts", []],
  ["src/commands/backup.ts", ["/nowhere/backup"]],
  ["src/commands/jobs.ts", ["list"]],
  ["src/commands/verifyAudit.ts", []],
])("%s %j says that the database refuses its login, and what to do", async (script, args) => {
  const exitCode = /server|worker/.test(script) ? 1 : 2;
  const wrong = as("office_owner", "wrong");
  expect(await runCommand(script, args, { DATABASE_URL: wrong })).toEqual({
    code: exitCode,
    output: [
      'The database refuses the login: password authentication failed for user "office_owner"',
      "Check the user and the password in the address. The passwords of office_server and office_worker are set by `npm run db:migrate`, which takes an owner or administrator of your own",
      "",
    ].join("\n"),
  });
});

test("a login without the right to connect is refused in the same way", async () => {
  const { pool, url } = cluster.database;
  const database = new URL(url).pathname.slice(1);
  const server = await startServerProcess({
    database: { ...cluster.database, url: as("office_server", "first") },
  });
  try {
    const { token } = await server.login(["users.read"]);
    const users = () => server.ask("{ users { id } }", { token });
    expect(await users()).toMatchObject({ status: 200 });
    await pool.query(`revoke connect on database "${database}" from office_server`);
    await cutConnections(server, users);
    expect(await users()).toMatchObject({
      status: 503,
      errors: [{ extensions: { code: "UNAVAILABLE" } }],
    });
    const { output } = await runCommand("src/server.ts", [], {
      DATABASE_URL: as("office_server", "first"),
    });
    expect(output).toBe(
      [
        `The database refuses the login: permission denied for database "${database}"`,
        "Run `npm run db:migrate`, which grants the right to connect, or `grant connect on database <name> to <role>`",
        "",
      ].join("\n"),
    );
  } finally {
    await pool.query(`grant connect on database "${database}" to office_server`);
    await server.stop();
  }
});

test("the doctor of a worker's machine checks the worker's login only", async () => {
  const { code, output } = await runCommand("src/commands/doctor.ts", [], {
    DATABASE_URL: as("office_worker", "first"),
  });
  expect(output).toMatch(
    /^ok +DATABASE_URL: not set for office_server here, where only office_worker logs in$/m,
  );
  expect(output).toMatch(/^ok +DATABASE_WORKER_URL: logs in and acts as office_worker$/m);
  expect(output).not.toMatch(/WRONG|grant/);
  expect(code).toBe(0);
});

test("a server says that its database does not exist", async () => {
  const elsewhere = new URL(cluster.database.url);
  elsewhere.pathname = "/no_such_database";
  expect(await runCommand("src/server.ts", [], { DATABASE_URL: elsewhere.href })).toEqual({
    code: 1,
    output: [
      'The database refuses the login: database "no_such_database" does not exist',
      "Create the database, then run `npm run db:migrate`",
      "",
    ].join("\n"),
  });
});
