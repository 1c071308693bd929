import { parseArgs } from "node:util";
import type pg from "pg";
import { type Config, ConfigError } from "../config.ts";
import { CommandError, runCommand, withPool } from "./runCommand.ts";

// `npm run jobs`: the jobs that were given up, and another try for them.

const usage = `npm run jobs -- list                    jobs that were given up, with the last error
npm run jobs -- retry --id <id> ...     tries these again, with all their attempts
npm run jobs -- retry --task <task>     tries all of a task again`;

interface DeadJob {
  id: string;
  task: string;
  tenant: string;
  correlation_id: string | null;
  run_at: Date;
  attempts: number;
  last_error: string | null;
}

const dead = `
  select j.id, t.identifier as task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
    j.run_at, j.attempts, j.last_error
  from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
  where j.locked_at is null and j.attempts >= j.max_attempts`;

await runCommand(async (config) => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { id: { type: "string", multiple: true }, task: { type: "string" } },
  });
  const [action] = positionals;
  const { id: ids, task } = values;
  if (action === "list") return asWorker(config, list);
  // Without a choice nothing is tried again, rather than everything.
  if (action !== "retry" || (ids === undefined) === (task === undefined))
    throw new CommandError(usage);
  if (ids?.some((id) => !/^\d{1,18}$/.test(id)))
    throw new CommandError(`--id takes numbers\n${usage}`);
  return asWorker(config, (client) => retry(client, ids ?? null, task ?? null));
});

async function list(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<DeadJob>(`${dead} order by j.run_at`);
  for (const job of rows)
    console.log(
      `${job.id}  ${job.task}  ${job.tenant}  ${job.run_at.toISOString()}  ${job.attempts} attempts  ${job.correlation_id ?? "-"}  ${(job.last_error ?? "").split("\n")[0]?.slice(0, 200)}`,
    );
  console.log(rows.length === 0 ? "No job was given up." : `${rows.length} given up`);
  return 0;
}

/** In one transaction with what the people are told who started them. */
async function retry(
  client: pg.ClientBase,
  ids: string[] | null,
  task: string | null,
): Promise<number> {
  await client.query("begin");
  const { rows } = await client.query<DeadJob>(
    `with chosen as (${dead} and ($1::bigint[] is null or j.id = any ($1)) and ($2::text is null or t.identifier = $2) for update of j),
       again as (
         select r.id from chosen c, graphile_worker.reschedule_jobs(array[c.id], run_at => now(), attempts => 0) as r
       )
     select c.* from chosen c where exists (select from again a where a.id = c.id)`,
    [ids, task],
  );
  for (const { id, tenant } of rows)
    await client.query("select office_jobs.notify_job_owner($1, $2, 'QUEUED', 0, null)", [
      tenant,
      id,
    ]);
  await client.query("commit");
  for (const job of rows) console.log(`${job.id}  ${job.task}  is tried again`);
  if (rows.length > 0) return 0;
  console.log("No job that was given up fits.");
  return 1;
}

async function asWorker<T>(
  { database }: Config,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  if (database.workerUrl === undefined)
    throw new ConfigError(["DATABASE_WORKER_URL or DATABASE_URL must say where the jobs are"]);
  return withPool(database, database.workerUrl, "office_worker", async (pool) => {
    const client = await pool.connect();
    try {
      return await work(client);
    } finally {
      client.release(true);
    }
  });
}
