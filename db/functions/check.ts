import pg from "pg";
import { isDatabaseError } from "../../src/errors/databaseErrors.ts";
import { readBody } from "./body.ts";
import type { Body } from "./body.ts";
import { listFunctions, listTriggers } from "./catalogue.ts";
import { askPlpgsqlCheck, findPlpgsqlCheck } from "./extension.ts";
import { writeProbe } from "./probe.ts";
import type { FunctionRow, TriggerUse } from "./probe.ts";

/** A name or type in a function body that does not exist in the schema. */
export interface FunctionProblem {
  signature: string;
  source: string;
  /** The line in `source`, from 1. */
  line: number;
  message: string;
  /** The check does not support this function, which may be correct. */
  isUnreadable?: boolean;
}

/** Codes of invalid references; other errors depend on values, which are null here. */
const wrongReference = /^(?:42(?!501|601)|3F)/;

/**
 * Plans, without running, all statements of a schema's functions and finds references to missing objects. PL/pgSQL
 * itself checks a statement only when it is reached. Dynamic SQL (`execute`) is not checked. Uses the extension
 * plpgsql_check for PL/pgSQL when it is installed. The client's transaction is unchanged afterwards.
 * @param only the signatures of the functions to check; all by default
 */
export async function checkFunctions(
  client: pg.ClientBase,
  tenant: string,
  only?: ReadonlySet<string>,
): Promise<FunctionProblem[]> {
  await client.query(
    "savepoint office_functions; set local check_function_bodies = on; set local role office_owner",
  );
  try {
    const found = await checkAll(new FunctionChecker(client, tenant), client, tenant, only);
    return found.filter((problem) => !isAllowed(problem));
  } finally {
    await client.query(
      "rollback to savepoint office_functions; release savepoint office_functions",
    );
  }
}

async function checkAll(
  checker: FunctionChecker,
  client: pg.ClientBase,
  tenant: string,
  only?: ReadonlySet<string>,
): Promise<FunctionProblem[]> {
  await checker.prepare();
  const triggers = await listTriggers(client, tenant);
  const found: FunctionProblem[] = [];
  for (const row of await listFunctions(client, tenant)) {
    if (only && !only.has(row.signature)) continue;
    found.push(
      ...(row.language === "sql"
        ? await checker.checkSql(row)
        : await checker.checkPlpgsql(row, triggers.get(row.oid))),
    );
  }
  return found;
}

/** Whether comment lines directly above a problem allow it with a reason. */
function isAllowed({ source, line }: FunctionProblem): boolean {
  const lines = source.split("\n");
  for (let at = line - 2; /^\s*--/.test(lines[at] ?? ""); at--)
    if (/--\s*lint:\s*allow\s+function-body\s+because\s+.{10,}/i.test(lines[at] ?? "")) return true;
  return false;
}

class FunctionChecker {
  readonly #client: pg.ClientBase;
  readonly #tenant: string;
  readonly #schema: string;
  readonly #problems: string;
  /** The function of plpgsql_check; null when it is not installed. */
  #extension: string | null = null;

  constructor(client: pg.ClientBase, tenant: string) {
    this.#client = client;
    this.#tenant = tenant;
    this.#schema = `${tenant.slice(0, 50)}_check`;
    this.#problems = `${pg.escapeIdentifier(`${this.#schema}_rows`)}.problems`;
  }

  async prepare(): Promise<void> {
    this.#extension = await findPlpgsqlCheck(this.#client);
    const schemas = [this.#schema, `${this.#schema}_rows`].map(pg.escapeIdentifier);
    await this.#client.query(
      `${schemas.map((schema) => `create schema ${schema};`).join(" ")}
       create table ${this.#problems} (line integer, state text, message text)`,
    );
  }

  async checkSql(row: FunctionRow): Promise<FunctionProblem[]> {
    try {
      await this.#inSavepoint(row, () =>
        this.#client.query("select fmgr_sql_validator($1)", [row.oid]),
      );
      return [];
    } catch (error) {
      if (!isDatabaseError(error) || !wrongReference.test(error.code ?? "")) return [];
      const position = Number(error.internalPosition ?? error.position ?? 1);
      const line = row.source.slice(0, position - 1).split("\n").length;
      return [{ signature: row.signature, source: row.source, line, message: error.message }];
    }
  }

  async checkPlpgsql(
    row: FunctionRow,
    uses: readonly TriggerUse[] | undefined,
  ): Promise<FunctionProblem[]> {
    // A trigger function without a trigger cannot be checked.
    if (row.result === "trigger" && !uses) return [];
    const name = this.#extension;
    if (name !== null) return checkUses(row, uses, (use) => this.#askExtension(name, row, use));
    let body: Body;
    try {
      body = readBody(row.definition);
    } catch (error) {
      return [unreadable(row, error)];
    }
    return checkUses(row, uses, (use) => this.#probe(row, body, use));
  }

  async #askExtension(
    name: string,
    row: FunctionRow,
    use?: TriggerUse,
  ): Promise<FunctionProblem[]> {
    const found = await this.#inSavepoint(row, () => askPlpgsqlCheck(this.#client, name, row, use));
    return found.flatMap(({ line, state, message }) =>
      isWrong(state, message) ? [problemAt(row, line, message, use)] : [],
    );
  }

  async #probe(row: FunctionRow, body: Body, use?: TriggerUse): Promise<FunctionProblem[]> {
    const probe = writeProbe(row, body, { schema: this.#schema, problems: this.#problems }, use);
    const call = `${pg.escapeIdentifier(this.#schema)}.${pg.escapeIdentifier(row.name)}(${row.nulls})`;
    try {
      const problems = await this.#inSavepoint(row, async () => {
        for (const name of use?.transitions ?? [])
          await this.#client.query(
            `create table ${pg.escapeIdentifier(`${this.#schema}_rows`)}.${pg.escapeIdentifier(name)} (like ${use?.table ?? ""})`,
          );
        await this.#client.query(probe.text);
        await this.#client.query(`select from ${call}`);
        const { rows } = await this.#client.query<{ line: number; state: string; message: string }>(
          `select distinct line, state, message from ${this.#problems} order by line`,
        );
        return rows;
      });
      return problems.flatMap(({ line, state, message }) =>
        isWrong(state, message) ? [problemAt(row, line, message, use)] : [],
      );
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
      // An error before the first statement is in a declaration.
      const at = Number(/near line (\d+)/.exec(error.where ?? "")?.[1] ?? 0);
      const line = probe.lines[at - 1] ?? 0;
      return line > 0 && wrongReference.test(error.code ?? "")
        ? [problemAt(row, line, error.message)]
        : [unreadable(row, error)];
    }
  }

  /** Runs `work` with a function's search path and rolls its changes back. */
  async #inSavepoint<T>(row: FunctionRow, work: () => Promise<T>): Promise<T> {
    const own = row.searchPath ?? `"${this.#tenant}", extensions`;
    await this.#client.query(
      `savepoint office_check; set local search_path to ${pg.escapeIdentifier(`${this.#schema}_rows`)}, ${own}`,
    );
    try {
      return await work();
    } finally {
      await this.#client.query(
        "rollback to savepoint office_check; release savepoint office_check",
      );
    }
  }
}

function unreadable({ signature, source }: FunctionRow, error: unknown): FunctionProblem {
  const message = `cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
  return { signature, source, line: 1, message, isUnreadable: true };
}

/**
 * Checks a function once for each table whose trigger runs it. A function that branches by table may name columns of
 * one table only, so a reference is invalid when it fails for all tables.
 */
async function checkUses(
  row: FunctionRow,
  uses: readonly TriggerUse[] | undefined,
  check: (use?: TriggerUse) => Promise<FunctionProblem[]>,
): Promise<FunctionProblem[]> {
  if (row.result !== "trigger") return check();
  const asksForTable = /\btg_(?:relid|relname|table_name|argv)\b/i.test(row.source);
  let problems: FunctionProblem[] | undefined;
  for (const use of uses ?? []) {
    const found = await check(use);
    if (asksForTable)
      problems = (problems ?? found).filter(({ line }) => found.some((one) => one.line === line));
    else problems = [...(problems ?? []), ...found];
    if (asksForTable && problems.length === 0) break;
  }
  return problems ?? [];
}

function problemAt(
  { signature, source }: FunctionRow,
  line: number,
  message: string,
  use?: TriggerUse,
): FunctionProblem {
  return { signature, source, line, message: use ? `${message} (on ${use.table})` : message };
}

/** Whether an error is an invalid reference. */
function isWrong(state: string, message: string): boolean {
  return wrongReference.test(state) || message.startsWith("invalid input value for enum");
}
