import { parseArgs } from "node:util";
import pg from "pg";
import { readPidFile } from "../dev/emulators/postgresCluster.ts";
import { startCluster } from "../test/helpers/cluster.ts";
import { startStandby } from "../test/helpers/standby.ts";
import { makeClient } from "./compare/client.ts";
import { fill, fullSize, idOf } from "./compare/dataSet.ts";
import { end, launch, messageOf, openSession } from "./compare/ownProcess.ts";
import { cpuSecondsOfPostgres } from "./compare/processes.ts";

// The primary's CPU time for reads with and without a replica, on 10,000 products, and with a change for every
// tenth read:
//   npm run bench -- replica [--requests 300] [--scale 0.2]
// CPU time hardly depends on other load; /proc counts it in hundredths of a second.

const { values: flags } = parseArgs({
  options: {
    requests: { type: "string", default: "300" },
    scale: { type: "string", default: "0.2" },
  },
});
const requests = Number(flags.requests);
const size = Object.fromEntries(
  Object.entries(fullSize).map(([kind, count]) => [
    kind,
    Math.max(20, Math.round(count * Number(flags.scale))),
  ]),
) as unknown as typeof fullSize;
// These tables are not read.
size.auditRows = 1_000;
size.orders = 1_000;
const connections = 4;

interface Read {
  name: string;
  query: string;
  variables: (n: number) => Record<string, unknown>;
}

const page = "id name erpProductNumber vintage stockQuantity wineType { id name }";
const reads: readonly Read[] = [
  {
    name: "one product",
    query: `query One($id: ID!) { product(id: $id) { ${page} } }`,
    variables: (n) => ({ id: idOf(3, 1 + (n % size.products)) }),
  },
  {
    name: "a page of 50 products",
    query: `query Page($offset: Int) { products(first: 50, offset: $offset) { nodes { ${page} } } }`,
    variables: (n) => ({ offset: (n % 20) * 50 }),
  },
  {
    name: "20 products by the query language",
    query: `query Find($query: String) { products(first: 20, query: $query) { nodes { ${page} } } }`,
    variables: (n) => ({ query: `producer:"Producer ${n % 997}"` }),
  },
  {
    name: "the same, counted",
    query: `query Count($query: String) { products(first: 20, query: $query, includeTotalCount: true) { totalCount nodes { ${page} } } }`,
    variables: (n) => ({ query: `producer:"Producer ${n % 997}"` }),
  },
  {
    name: "many products, added up",
    query: `query Sum($query: String) { products(first: 1, query: $query) { aggregates { sum { stockQuantity } average { alcoholPercent } } } }`,
    variables: (n) => ({ query: `vintage:>=${1970 + (n % 40)}` }),
  },
];
const change = `mutation ($id: ID!, $note: String!) { updateCampaign(id: $id, input: { note: $note }) { id } }`;

const cluster = await startCluster();
const admin = new pg.Client({
  connectionString: cluster.database.url,
  options: "-c search_path=backoffice,extensions",
});
await admin.connect();
admin.on("error", () => {});
await fill(admin, size);
await admin.query("vacuum analyze");
const token = await openSession(admin);
const standby = await startStandby(cluster);
const processesOf = async (files: string) => {
  const { pid = 0 } = (await readPidFile(files)) ?? {};
  return () => cpuSecondsOfPostgres(pid);
};
const primarySeconds = await processesOf(cluster.files());
const replicaSeconds = await processesOf(standby.files);

/** Milliseconds of CPU time per request. */
interface Cost {
  primary: number;
  replica: number;
}

const metricsPort = String(20_000 + (process.pid % 10_000));
const without = await start({ METRICS_PORT: "off" });
const withReplica = await start({
  METRICS_PORT: metricsPort,
  DATABASE_REPLICA_URL: standby.url,
});
try {
  for (const read of reads) {
    for (const changes of [false, true]) {
      const alone = await without.cost(read, changes);
      const both = await withReplica.cost(read, changes);
      const ratio = both.primary / alone.primary;
      console.log(
        `${read.name}${changes ? ", a change for every tenth" : ""}: primary ${ms(alone.primary)} without, ` +
          `${ms(both.primary)} with (${ratio.toFixed(2)}), replica ${ms(both.replica)}`,
      );
    }
  }
  console.log((await withReplica.metrics()).join("\n"));
} finally {
  await Promise.all([without.stop(), withReplica.stop()]);
  await admin.end();
  await standby.drop();
  await cluster.database.drop();
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}

async function start(env: Record<string, string>) {
  const child = await launch("src/server.ts", cluster.database.url, [], env);
  const { url } = await messageOf<{ url: string }>(child);
  const headers = { authorization: `Bearer ${token}` };
  const { send, close } = makeClient(`${url}/graphql`, connections, headers);
  const ask = async (body: object) => {
    const text = await send(JSON.stringify(body));
    const { errors } = JSON.parse(text) as { errors?: unknown };
    if (errors !== undefined) throw new Error(text.slice(0, 500));
  };

  const round = async (read: Read, changes: boolean, count: number) => {
    let n = 0;
    const one = async () => {
      while (n < count) {
        const at = n++;
        await ask({ query: read.query, variables: read.variables(at) });
        if (changes && at % 10 === 0)
          await ask({
            query: change,
            variables: { id: idOf(4, 1 + (at % size.campaigns)), note: `Note ${Math.random()}` },
          });
      }
    };
    await Promise.all(Array.from({ length: connections }, one));
  };

  return {
    async cost(read: Read, changes: boolean): Promise<Cost> {
      await round(read, changes, 50);
      const [primary, replica] = [primarySeconds(), replicaSeconds()];
      await round(read, changes, requests);
      return {
        primary: ((primarySeconds() - primary) * 1000) / requests,
        replica: ((replicaSeconds() - replica) * 1000) / requests,
      };
    },
    async metrics() {
      const answer = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
      const text = await answer.text();
      return text.split("\n").filter((line) => line.startsWith("office_replica_reads_total"));
    },
    async stop() {
      close();
      await end(child);
    },
  };
}
