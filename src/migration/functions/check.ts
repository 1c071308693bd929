import pg from "pg";
import { isDatabaseError } from "../../errors/databaseErrors.ts";
import { readBody } from "./body.ts";
import type { Body } from "./body.ts";
import { listFunctions, listTriggers } from "./catalogue.ts";
import { runPlpgsqlCheck, findPlpgsqlCheck } from "./extension.ts";
import { writeProbe } from "./probe.ts";
import type { FunctionRow, Probe, TriggerUse } from "./probe.ts";

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

/** Functions that are checked together, because each savepoint and message takes time. */
const batchSize = 25;

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
  const all = (await listFunctions(client, tenant)).filter(
    ({ signature }) => !only || only.has(signature),
  );
  for (const batch of batchesOf(all)) {
    if (await checker.areSound(batch, triggers)) continue;
    for (const row of batch)
      found.push(
        ...(row.language === "sql"
          ? await checker.checkSql(row)
          : await checker.checkPlpgsql(row, triggers.get(row.oid))),
      );
  }
  return found;
}

/** Trigger functions, which are checked for each of their tables, are alone. */
function batchesOf(rows: readonly FunctionRow[]): FunctionRow[][] {
  const [triggers, others] = [true, false].map((isTrigger) =>
    rows.filter(({ result }) => (result === "trigger") === isTrigger),
  ) as [FunctionRow[], FunctionRow[]];
  const batches = triggers.map((row) => [row]);
  for (let at = 0; at < others.length; at += batchSize)
    batches.push(others.slice(at, at + batchSize));
  return batches;
}

/** Whether comment lines directly above a problem allow it with a reason. */
function isAllowed({ source, line }: Pick<FunctionProblem, "source" | "line">): boolean {
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

  /**
   * Checks functions together. False when one may have a problem, or when they cannot be checked together: then each is
   * to be checked by itself.
   */
  async areSound(
    batch: readonly FunctionRow[],
    triggers: ReadonlyMap<number, TriggerUse[]>,
  ): Promise<boolean> {
    if (this.#extension !== null) return false;
    const problems = `select distinct line, state, message from ${this.#problems}`;
    await this.#client.query("savepoint office_check");
    try {
      const statements = batch.flatMap((row) => [
        `set local search_path to ${this.#searchPath(row)}`,
        ...(row.language === "sql"
          ? [`select fmgr_sql_validator(${row.oid})`]
          : this.#probesOf(row, triggers.get(row.oid))),
      ]);
      // The results of several statements are a list.
      const results: unknown = await this.#client.query([...statements, problems].join(";\n"));
      const found = results as pg.QueryResult<{ line: number; state: string; message: string }>[];
      const [source] = batch.length === 1 ? batch.map((row) => row.source) : [];
      const isSound = ({
        line,
        state,
        message,
      }: {
        line: number;
        state: string;
        message: string;
      }) => !isWrong(state, message) || (source !== undefined && isAllowed({ source, line }));
      return found.at(-1)?.rows.every(isSound) ?? false;
    } catch {
      return false;
    } finally {
      await this.#client.query(
        "rollback to savepoint office_check; release savepoint office_check",
      );
    }
  }

  #probesOf(row: FunctionRow, uses: readonly TriggerUse[] | undefined): string[] {
    if (row.result === "trigger" && !uses) return [];
    const body = readBody(row.definition);
    // A function that branches by table is sound when it is for one.
    const checked = branchesByTable(row) ? uses?.slice(0, 1) : uses;
    return (checked ?? [undefined]).flatMap((use) => {
      const tables = use?.transitions.map((name) => this.#transitionTable(name)) ?? [];
      return [
        ...tables.map((table) => `create table ${table} (like ${use?.table ?? ""})`),
        this.#probeOf(row, body, use).text.replace(/;\n$/, ""),
        ...tables.map((table) => `drop table ${table}`),
      ];
    });
  }

  #probeOf(row: FunctionRow, body: Body, use?: TriggerUse): Probe {
    return writeProbe(row, body, { schema: this.#schema, problems: this.#problems }, use);
  }

  #transitionTable(name: string): string {
    return `${pg.escapeIdentifier(`${this.#schema}_rows`)}.${pg.escapeIdentifier(name)}`;
  }

  #searchPath(row: FunctionRow): string {
    const own = row.searchPath ?? `"${this.#tenant}", extensions`;
    return `${pg.escapeIdentifier(`${this.#schema}_rows`)}, ${own}`;
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
    const found = await this.#inSavepoint(row, () => runPlpgsqlCheck(this.#client, name, row, use));
    return found.flatMap(({ line, state, message }) =>
      isWrong(state, message) ? [problemAt(row, line, message, use)] : [],
    );
  }

  async #probe(row: FunctionRow, body: Body, use?: TriggerUse): Promise<FunctionProblem[]> {
    const probe = this.#probeOf(row, body, use);
    try {
      const problems = await this.#inSavepoint(row, async () => {
        for (const name of use?.transitions ?? [])
          await this.#client.query(
            `create table ${this.#transitionTable(name)} (like ${use?.table ?? ""})`,
          );
        await this.#client.query(probe.text);
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
    await this.#client.query(
      `savepoint office_check; set local search_path to ${this.#searchPath(row)}`,
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
  const isByTable = branchesByTable(row);
  let problems: FunctionProblem[] | undefined;
  for (const use of uses ?? []) {
    const found = await check(use);
    if (isByTable)
      problems = (problems ?? found).filter(({ line }) => found.some((one) => one.line === line));
    else problems = [...(problems ?? []), ...found];
    if (isByTable && problems.length === 0) break;
  }
  return problems ?? [];
}

const branchesByTable = ({ source }: FunctionRow): boolean =>
  /\btg_(?:relid|relname|table_name|argv)\b/i.test(source);

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
