import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import pg from "pg";
import { readConfig } from "../src/config.ts";
import { openClient } from "../src/postgres/pools.ts";
import { environmentOfCommand } from "../src/settings/runningService.ts";

// `npm run db:psql` opens the database of the running service in psql, or in a simple prompt where psql is not
// installed. `-- -c "select 1"` runs one command.

const responseTimeoutMs = 3_600_000;

async function main(): Promise<void> {
  const { database } = readConfig(environmentOfCommand(process.env));
  if (database.ownerUrl === undefined)
    throw new Error("No database: start the service with npm start, or set DATABASE_URL");
  const args = process.argv.slice(2);
  const code = await runPsql(database.ownerUrl, database.schema, args);
  process.exitCode = code ?? (await runPrompt(database.ownerUrl, database.schema, args));
}

/**
 * Runs psql and returns its exit code; null where it is not installed. The password is passed in the environment,
 * because other users can read the arguments.
 */
async function runPsql(url: string, schema: string, args: string[]): Promise<number | null> {
  const address = new URL(url);
  const password = decodeURIComponent(address.password);
  address.password = "";
  const child = spawn("psql", [address.href, ...args], {
    stdio: "inherit",
    env: {
      ...process.env,
      ...(password && { PGPASSWORD: password }),
      PGOPTIONS: `-c search_path=${schema},extensions`,
    },
  });
  // Ctrl-C cancels a statement in psql, which shares the terminal.
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  } finally {
    process.off("SIGINT", ignore);
  }
}

/** Runs the statements of `-c` or of the standard input, each ended by a semicolon, and prints what they return. */
async function runPrompt(url: string, schema: string, args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: { command: { type: "string", short: "c" } },
  });
  const client = await openClient(url, responseTimeoutMs);
  try {
    await client.query(`set search_path = ${pg.escapeIdentifier(schema)}, extensions`);
    if (values.command !== undefined) return (await runStatement(client, values.command)) ? 0 : 1;
    if (process.stdin.isTTY)
      console.log(
        "psql is not installed. Enter SQL statements, each ended by a semicolon; Ctrl-D quits.",
      );
    return await readStatements(client);
  } finally {
    await client.end();
  }
}

async function readStatements(client: pg.Client): Promise<number> {
  const lines = createInterface({
    input: process.stdin,
    ...(process.stdin.isTTY && { output: process.stdout, prompt: "back_office=> " }),
  });
  let statement = "";
  let failures = 0;
  lines.prompt();
  for await (const line of lines) {
    statement += `${line}\n`;
    if (/;\s*$/.test(line)) {
      if (!(await runStatement(client, statement))) failures++;
      statement = "";
    }
    lines.prompt();
  }
  if (statement.trim() !== "" && !(await runStatement(client, statement))) failures++;
  return failures === 0 ? 0 : 1;
}

async function runStatement(client: pg.Client, text: string): Promise<boolean> {
  try {
    const results = await client.query(text);
    for (const { command, rows, rowCount } of [results].flat() as pg.QueryResult<object>[])
      if (rows.length > 0) console.table(rows);
      else console.log([command, rowCount].filter((part) => part !== null).join(" "));
    return true;
  } catch (error) {
    console.error(error instanceof Error ? `ERROR: ${error.message}` : String(error));
    return false;
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
