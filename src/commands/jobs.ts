import type pg from "pg";
import { type Config, ConfigError } from "../config.ts";
import { UsageError } from "../process/commandLine.ts";
import { runCommand, withPool } from "./runCommand.ts";

// `npm run jobs`: lists the failed jobs and retries them.

const command = {
  usage: `Usage: npm run jobs -- list                    failed jobs, with the last error
       npm run jobs -- retry --id <id> ...     tries these again, with all their attempts
       npm run jobs -- retry --task <task>     retries all failed jobs of a task`,
  options: { id: { type: "string", multiple: true }, task: { type: "string" } },
} as const;

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
  select j.id, j.task, j.payload ->> 'tenant' as tenant, j.payload ->> 'correlationId' as correlation_id,
    j.run_at, j.attempts, j.last_error
  from office_jobs.queue j
  where j.locked_at is null and j.attempts >= j.max_attempts`;

await runCommand(command, async (config, { values, positionals }) => {
  const [action = "", ...others] = positionals;
  const { id: ids, task } = values;
  if (others.length > 0 || (action !== "list" && action !== "retry"))
    throw new UsageError("Choose list or retry", command.usage);
  if (action === "list") {
    if (ids !== undefined || task !== undefined)
      throw new UsageError("list shows all failed jobs: it takes no option", command.usage);
    return asWorker(config, list);
  }
  // A retry of all jobs must be chosen explicitly.
  if ((ids === undefined) === (task === undefined))
    throw new UsageError("retry takes either --id or --task", command.usage);
  const wrong = ids?.find((id) => !/^\d{1,18}$/.test(id));
  if (wrong !== undefined) throw new UsageError(`--id ${wrong} is not a number`, command.usage);
  return asWorker(config, (client) => retry(client, ids ?? null, task ?? null));
});

async function list(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<DeadJob>(`${dead} order by j.run_at`);
  for (const job of rows)
    console.log(
      `${job.id}  ${job.task}  ${job.tenant}  ${job.run_at.toISOString()}  ${job.attempts} attempts  ${job.correlation_id ?? "-"}  ${shown(job.last_error ?? "")}`,
    );
  console.log(rows.length === 0 ? "No job has failed." : `${rows.length} failed jobs`);
  return 0;
}

/** The first line of an error of another system, without control characters and logins in addresses. */
function shown(error: string): string {
  const [line = ""] = error.split("\n");
  return line
    .replaceAll(/\p{Cc}/gu, "?")
    .replaceAll(/\/\/[^/\s@]*@/g, "//")
    .slice(0, 200);
}

/** Notifies the owners of the jobs in the same transaction. */
async function retry(
  client: pg.ClientBase,
  ids: string[] | null,
  task: string | null,
): Promise<number> {
  await client.query("begin");
  const { rows } = await client.query<DeadJob>(
    `with chosen as (${dead} and ($1::bigint[] is null or j.id = any ($1)) and ($2::text is null or j.task = $2) for no key update of j),
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
  for (const job of rows) console.log(`${job.id}  ${job.task}  will be retried`);
  const missing = (ids ?? []).filter((id) => !rows.some((job) => job.id === id));
  for (const id of missing) console.log(`${id}  is no failed job`);
  if (rows.length > 0 && missing.length === 0) return 0;
  if (rows.length === 0) console.log("No failed job matches.");
  return 1;
}

async function asWorker<T>(
  { database }: Config,
  work: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  if (database.workerUrl === undefined)
    throw new ConfigError([
      "Set DATABASE_WORKER_URL or DATABASE_URL to the database with the jobs",
    ]);
  return withPool(database, database.workerUrl, "office_worker", async (pool) => {
    const client = await pool.connect();
    try {
      return await work(client);
    } finally {
      client.release(true);
    }
  });
}
