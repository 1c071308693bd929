import { setTimeout } from "node:timers/promises";
import type pg from "pg";
import { OperatorError } from "../text/OperatorError.ts";
import { UsageError } from "../process/commandLine.ts";
import { poolFor, requireSupportedVersion } from "../postgres/pools.ts";
import { makeTypesense } from "../gateways/typesense.ts";
import type { CollectionState } from "../search/state.ts";
import { readStates } from "../search/state.ts";
import { verifyCollection } from "../search/verify.ts";
import { runCommand } from "./runCommand.ts";

// `npm run search:rebuild -- products`, `npm run search:verify`: rebuild or verify collections of the search engine
// while they serve; without names, all of them.

const command = {
  usage: `Usage: npm run search:rebuild -- [collection ...]
       npm run search:verify -- [collection ...]`,
  options: {},
};
const printLine = (line: string) => process.stdout.write(`${line}\n`);
type InTenant = <T>(effect: (client: pg.ClientBase) => Promise<T>) => Promise<T>;

await runCommand(command, async (config, { positionals }) => {
  const [action, ...names] = positionals;
  if (action !== "rebuild" && action !== "verify")
    throw new UsageError("Choose rebuild or verify", command.usage);
  const { workerUrl, schema, maintenanceTimeoutMs } = config.database;
  const engine = makeTypesense(config.search);
  if (workerUrl === undefined || engine === null)
    throw new OperatorError(
      "DATABASE_WORKER_URL (or DATABASE_URL), TYPESENSE_URL and TYPESENSE_API_KEY must be set, as for the worker",
    );
  await requireSupportedVersion(workerUrl);
  const pool = poolFor(workerUrl, "office_worker", 1, { responseTimeoutMs: maintenanceTimeoutMs });
  const inTenant: InTenant = async (effect) => {
    const client = await pool.connect();
    try {
      await client.query(`set search_path to "${schema}", extensions, pg_temp`);
      return await effect(client);
    } finally {
      client.release();
    }
  };
  try {
    const states = await chosen(inTenant, names);
    if (action === "rebuild") {
      await rebuild(inTenant, states);
      return 0;
    }
    let differ = 0;
    for (const state of states) {
      const { type, version } = state;
      if (version === null) throw new OperatorError(`${type} has not been built yet`);
      const found = await verifyCollection(engine, inTenant, { ...state, version });
      report(type, found);
      differ += found.different.length;
    }
    return differ === 0 ? 0 : 1;
  } finally {
    engine.close();
    await pool.end();
  }
});

async function chosen(inTenant: InTenant, names: readonly string[]): Promise<CollectionState[]> {
  const states = (await inTenant(readStates)).filter(({ definition }) => definition !== null);
  const known = states.map(({ type }) => type);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new OperatorError(`${unknown.join(", ")}: the collections are ${known.join(", ")}`);
  return names.length === 0 ? states : states.filter(({ type }) => names.includes(type));
}

/** Lets a worker rebuild the collections, and waits until the new versions serve. */
async function rebuild(inTenant: InTenant, wanted: readonly CollectionState[]): Promise<void> {
  for (const { type } of wanted)
    await inTenant((client) => client.query("select request_search_build($1)", [type]));
  printLine(
    `A worker rebuilds ${wanted.map(({ type }) => type).join(", ")}; Ctrl-C does not stop it`,
  );
  const { rows } = await inTenant((client) =>
    client.query<{ runs: boolean }>(
      "select exists (select from office_jobs.workers where seen_at > clock_timestamp() - silence) as runs",
    ),
  );
  if (rows[0]?.runs !== true)
    printLine("No worker runs: start one (`npm run worker`). This command waits for it");
  const left = new Map(wanted.map((state) => [state.type, state.version]));
  while (left.size > 0) {
    await setTimeout(200);
    for (const { type, version, error } of await inTenant(readStates)) {
      if (!left.has(type)) continue;
      if (error !== null) throw new OperatorError(`${type} cannot be built: ${error}`);
      if (version === null || version === left.get(type)) continue;
      left.delete(type);
      printLine(`${type}: ${version} serves`);
    }
  }
}

function report(type: string, found: Awaited<ReturnType<typeof verifyCollection>>): void {
  const { documents, rows, engineChecksum, databaseChecksum, different } = found;
  printLine(
    `${type}: ${documents} documents, ${rows} rows; checksums ${engineChecksum} and ${databaseChecksum}`,
  );
  if (different.length === 0) return;
  printLine(`${type}: ${different.length} differ and are delivered to the engine again, such as`);
  for (const id of different.slice(0, 10)) printLine(`  ${id}`);
}
