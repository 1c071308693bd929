import { afterAll, beforeAll, test } from "@jest/globals";
import pg from "pg";
import { isResponsePending, wireOf } from "../../src/postgres/wire.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { contractOf, requireMethods } from "../helpers/internals/contract.ts";

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

async function withClient<T>(
  config: pg.ClientConfig & { pipeline?: boolean },
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: database.url, ...config });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

type Handler = (...given: unknown[]) => unknown;
const handlers = [
  "prepare",
  "handleDataRow",
  "handleCommandComplete",
  "handleError",
  "handleReadyForQuery",
];
const Query = pg.Query as unknown as new (
  config: object,
  values: undefined,
  callback: () => void,
) => pg.Submittable & Record<string, Handler>;

/** Runs a statement and returns which handlers `pg` calls, in order, and whether each gets the connection. */
function callsOf(client: pg.Client, text: string): Promise<string[]> {
  const calls: string[] = [];
  return new Promise((resolve) => {
    const query = new Query({ text, queryMode: "extended" }, undefined, () =>
      setImmediate(resolve, calls),
    );
    for (const name of handlers) {
      const original = query[name]!.bind(query);
      Object.assign(query, {
        [name]: (...given: unknown[]) => {
          const hasConnection = given.includes(wireOf(client).connection);
          calls.push(hasConnection ? `${name}(connection)` : name);
          return original(...given);
        },
      });
    }
    client.query(query);
  });
}

test("a query's handlers are called in the order that PipelinedQuery relies on", async () => {
  const requireThat = contractOf("pg", "src/postgres/PipelinedQuery.ts");
  requireMethods(requireThat, "Query", pg.Query.prototype, handlers);
  await withClient({}, async (client) => {
    const success =
      "prepare(connection) handleDataRow handleCommandComplete(connection) handleReadyForQuery(connection)";
    const calls = (await callsOf(client, "select 1")).join(" ");
    requireThat(`a query that succeeds is called ${success}`, calls === success);
    const failure = "prepare(connection) handleError(connection)";
    const failed = (await callsOf(client, "select 1 / 0")).join(" ");
    requireThat(`a query that fails is called ${failure}`, failed === failure);
  });
});

test("a connection has the messages of the extended query protocol", async () => {
  const requireThat = contractOf("pg", "src/postgres/PipelinedQuery.ts");
  await withClient({}, (client) => {
    const { connection } = wireOf(client);
    const messages = ["parse", "bind", "execute", "close", "flush"];
    requireMethods(requireThat, "a connection", connection, messages);
    return Promise.resolve();
  });
});

test("a connection records its prepared statements by name", async () => {
  const requireThat = contractOf("pg", "src/postgres/PipelinedQuery.ts");
  await withClient({}, async (client) => {
    const { connection } = wireOf(client) as unknown as {
      connection: Record<"parsedStatements" | "submittedNamedStatements", Record<string, unknown>>;
    };
    const running = client.query({ name: "one", text: "select 1" });
    requireThat(
      "a statement under way is in connection.submittedNamedStatements",
      connection.submittedNamedStatements["one"] === "select 1",
    );
    await running;
    requireThat(
      "a prepared statement is in connection.parsedStatements",
      connection.parsedStatements["one"] === "select 1",
    );
    Reflect.deleteProperty(connection.parsedStatements, "one");
    await client.query("deallocate one");
    await client.query({ name: "one", text: "select 1" });
    requireThat(
      "a statement that is removed from connection.parsedStatements is prepared again",
      connection.parsedStatements["one"] === "select 1",
    );
  });
});

test("a client shows whether an answer is due", async () => {
  const requireThat = contractOf("pg", "src/postgres/wire.ts");
  await withClient({ pipeline: true }, async (client) => {
    const wire = wireOf(client);
    requireThat("readyForQuery is true while no query runs", wire.readyForQuery);
    const both = Promise.all([client.query("select 1"), client.query("select 2")]);
    requireThat("readyForQuery is false while a query runs", !wire.readyForQuery);
    requireThat(
      "_sentQueryQueue holds the queries behind the running one",
      wire._sentQueryQueue.length === 1 && isResponsePending(wire),
    );
    await both;
    requireThat(
      "_sentQueryQueue is empty when all are answered",
      wire._sentQueryQueue.length === 0 && !isResponsePending(wire),
    );
  });
});

test("a client shows its socket and its database process", async () => {
  const requireThat = contractOf("pg", "src/postgres/wire.ts");
  await withClient({}, async (client) => {
    const { rows } = await client.query<{ pid: number; port: number }>(
      "select pg_backend_pid() as pid, inet_client_port() as port",
    );
    const { processID, connection } = wireOf(client);
    requireThat("processID is the database's process", processID === rows[0]!.pid);
    requireThat(
      "connection.stream is the socket",
      connection.stream.localPort === rows[0]!.port && connection.stream.writable,
    );
  });
});

test("a connection emits errorMessage for an error of the database", async () => {
  const requireThat = contractOf("pg", "src/postgres/pools.ts");
  await withClient({}, async (client) => {
    const codes: unknown[] = [];
    wireOf(client).connection.on("errorMessage", (error: { code?: unknown }) =>
      codes.push(error.code),
    );
    await client.query("select 1 / 0").catch(() => undefined);
    requireThat("errorMessage has the SQLSTATE", codes.join() === "22012");
  });
});

test("pool.query takes its connection by pool.connect with a callback", async () => {
  const requireThat = contractOf("pg-pool", "src/telemetry/poolConnect.ts");
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  let withCallback = 0;
  const connect = pool.connect.bind(pool) as (callback?: unknown) => unknown;
  pool.connect = ((callback?: unknown) => {
    if (typeof callback === "function") withCallback++;
    return connect(callback);
  }) as typeof pool.connect;
  await pool.query("select 1");
  await pool.end();
  requireThat("pool.query calls pool.connect once, with a callback", withCallback === 1);
});
