import { randomBytes } from "node:crypto";
import pg from "pg";
import type { Config } from "../config.ts";
import { OperatorError } from "../text/OperatorError.ts";
import { UsageError } from "../process/commandLine.ts";
import { writeSettingsFile } from "./writeSettingsFile.ts";
import { endLogins, rotateLogins } from "./rotateLogins.ts";
import { runCommand, withPool } from "./runCommand.ts";

// `npm run keys:rotate -- search|database|workflow`: replaces the keys that this service creates; docs/operations.md
// describes the others. Secrets are written to a file, never to the terminal.

const command = {
  usage: `Usage: npm run keys:rotate -- search [--now]
       npm run keys:rotate -- database --write <new file>
       npm run keys:rotate -- database --finish
       npm run keys:rotate -- workflow [--finish] --write <new file>`,
  options: {
    now: { type: "boolean", default: false },
    finish: { type: "boolean", default: false },
    write: { type: "string" },
  },
} as const;
const printLine = (line: string) => process.stdout.write(`${line}\n`);

await runCommand(command, async (config, { values, positionals }) => {
  const { now, finish, write } = values;
  const [which, ...others] = positionals;
  if (others.length > 0) throw new UsageError("Choose one kind of keys", command.usage);
  if (now && which !== "search")
    throw new UsageError("--now is for keys of the search only", command.usage);
  if (write !== undefined && which === "search")
    throw new UsageError("Search keys are not written to a file", command.usage);
  if (finish && which === "search")
    throw new UsageError("Search keys end by themselves: there is no --finish", command.usage);
  switch (which) {
    case "search":
      await search(config, now);
      return 0;
    case "database":
      printLine(await (finish ? endLogins(config) : rotateLogins(config, write)));
      return 0;
    case "workflow":
      await workflow(config, finish, write);
      return 0;
    default:
      throw new UsageError("Choose search, database or workflow", command.usage);
  }
});

/** Starts a new generation of search keys; a worker updates the engine. */
async function search({ database }: Config, now: boolean): Promise<void> {
  const { workerUrl, schema } = database;
  if (workerUrl === undefined)
    throw new OperatorError("DATABASE_WORKER_URL (or DATABASE_URL) must be set, as for the worker");
  const { rows } = await withPool(database, workerUrl, "office_worker", (pool) =>
    pool.query<{ generation: number }>(
      `select ${pg.escapeIdentifier(schema)}.rotate_search_keys($1) as generation`,
      [now],
    ),
  );
  printLine(
    `New keys have generation ${rows[0]?.generation}; older keys end ${
      now ? "as soon as a worker has updated the search engine" : "in a quarter of an hour"
    }`,
  );
}

/** Adds a second secret, or removes the older one. The workflow itself is not called. */
async function workflow(
  { workflow: { secrets } }: Config,
  finish: boolean,
  file: string | undefined,
): Promise<void> {
  const [newest, older] = secrets;
  if (newest === undefined)
    throw new OperatorError("PRODUCT_SYNC_WORKFLOW_SECRET is not set: there is nothing to replace");
  if (!finish && older !== undefined)
    throw new OperatorError(
      "PRODUCT_SYNC_WORKFLOW_SECRET has two secrets already: remove the older one with --finish first",
    );
  if (finish && older === undefined)
    throw new OperatorError(
      "PRODUCT_SYNC_WORKFLOW_SECRET has only one secret: there is none to remove",
    );
  const made = `whsec_${randomBytes(32).toString("base64")}`;
  const kept = finish ? [newest] : [made, newest];
  await writeSettingsFile(file, [`PRODUCT_SYNC_WORKFLOW_SECRET=${kept.join(",")}`]);
  printLine(
    finish
      ? `Restart the workers with the settings of ${file}: they sign with the newer secret only`
      : `Restart the workers with the settings of ${file}: they sign with both. Give the first secret to the workflow, then remove the second: keys:rotate -- workflow --finish --write <another new file>`,
  );
}
