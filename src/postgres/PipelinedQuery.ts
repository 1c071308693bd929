import type { Duplex } from "node:stream";
import pg from "pg";
import { bytesPerTurn } from "../process/yieldToEventLoop.ts";
import { isDatabaseError } from "../errors/databaseErrors.ts";

/** A statement. */
export interface Statement {
  text: string;
  values?: readonly unknown[];
  /** Prepared on the connection under this name. */
  name?: string;
  /** Returns rows as lists of values instead of objects. */
  arrayMode?: boolean;
  /** Receives each row in PostgreSQL's text format; the result then has no rows. */
  onRow?: (values: Values) => void;
}

/** The values of a row in PostgreSQL's text format. */
type Values = readonly (string | null)[];

interface DataRow {
  fields: Values;
  /** In bytes. */
  length: number;
}

/** The statements before the wanted one, and prepared statements to close. */
export interface Prelude {
  statements: readonly PreludeStatement[];
  close?: readonly string[];
  /** Called when the prelude is done, while the statement itself may still run. */
  onDone?: () => void;
}

/** A statement whose rows are ignored; prepared on the connection when it has a name. */
export interface PreludeStatement {
  text: string;
  name?: string;
  values: readonly (string | Buffer | null)[];
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** The wire protocol of a `pg` connection, which its types leave out. */
interface WireConnection {
  stream: Duplex;
  parsedStatements: Record<string, string | undefined>;
  /** Named statements in messages without a response yet. */
  submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { text: string; name?: string }): void;
  bind(message: { statement?: string; values: PreludeStatement["values"] }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
  flush(): void;
}

/** The methods that `pg` calls on a query, which its types leave out. */
type RunnableQuery = pg.Submittable & {
  name?: string;
  text: string;
  prepare(connection: WireConnection): void;
  handleDataRow(message: DataRow): void;
  handleCommandComplete(message: unknown, connection: WireConnection): void;
  handleError(error: Error, connection: WireConnection): void;
  handleReadyForQuery(connection: WireConnection): void;
};
// The class is public; its constructor and the methods to override are not typed. See pg's lib/query.js.
const Query = pg.Query as unknown as new (
  config: object,
  values: undefined,
  callback: Callback,
) => RunnableQuery;

/**
 * For each connection and name, the last message in flight that prepares or closes that statement. Responses of earlier
 * messages do not change its state.
 */
const lastTouched = new WeakMap<WireConnection, Map<string, PipelinedQuery>>();

/**
 * Sends a statement and its prelude in one message with a single Sync: PostgreSQL runs them as one transaction unless
 * one of them begins its own. Begin, settings, statement and commit take one round trip instead of four (PostgreSQL 18,
 * section 54.2.4, Pipelining).
 */
export class PipelinedQuery extends Query {
  readonly #prelude: Prelude;
  readonly #onRow: Statement["onRow"];
  /** The SQL of the statements that this message prepares, by name. */
  readonly #preparedTexts = new Map<string, string>();
  readonly #closedNames: string[] = [];
  #pendingPrelude: number;
  #stream: Duplex | undefined;
  #bytesReadInTurn = 0;

  /** @throws TypeError for a value of the prelude that is not encoded; half a message would break the connection */
  constructor(prelude: Prelude, statement: Statement, callback: Callback) {
    for (const { text, values } of prelude.statements)
      for (const value of values as readonly unknown[])
        if (value !== null && typeof value !== "string" && !Buffer.isBuffer(value))
          throw new TypeError(`A ${typeof value} is no encoded parameter of: ${text}`);
    const { arrayMode, onRow, ...config } = statement;
    super(
      { ...config, queryMode: "extended", ...(arrayMode ? { rowMode: "array" } : {}) },
      undefined,
      callback,
    );
    this.#prelude = prelude;
    this.#onRow = onRow;
    this.#pendingPrelude = prelude.statements.length;
  }

  override prepare(connection: WireConnection): void {
    this.#stream = connection.stream;
    for (const name of this.#prelude.close ?? []) {
      this.#close(connection, name);
      this.#closedNames.push(name);
    }
    for (const { text, name, values } of this.#prelude.statements) {
      if (name === undefined) connection.parse({ text });
      else if (this.#isNew(connection, name, text)) connection.parse({ text, name });
      connection.bind(name === undefined ? { values } : { statement: name, values });
      connection.execute({});
    }
    // Without a flush PostgreSQL would hold the responses back until the statement ends.
    if (this.#prelude.onDone) connection.flush();
    if (this.name !== undefined) this.#isNew(connection, this.name, this.text);
    super.prepare(connection);
  }

  /**
   * Whether a statement must be prepared. A statement of that name may exist from a message that failed, or may fail;
   * it is closed first.
   */
  #isNew(connection: WireConnection, name: string, text: string): boolean {
    if (connection.parsedStatements[name] !== undefined) return false;
    this.#close(connection, name);
    this.#preparedTexts.set(name, text);
    return true;
  }

  #close(connection: WireConnection, name: string): void {
    connection.close({ type: "S", name });
    Reflect.deleteProperty(connection.parsedStatements, name);
    Reflect.deleteProperty(connection.submittedNamedStatements, name);
    let touched = lastTouched.get(connection);
    if (!touched) lastTouched.set(connection, (touched = new Map<string, PipelinedQuery>()));
    touched.set(name, this);
  }

  override handleReadyForQuery(connection: WireConnection): void {
    this.#updatePreparedStatements(connection, (name) => this.#preparedTexts.get(name));
    super.handleReadyForQuery(connection);
  }

  override handleError(error: Error, connection: WireConnection): void {
    // After an error it is unknown which of its statements were prepared.
    this.#updatePreparedStatements(connection, () => undefined);
    // The statement does not exist: the next use prepares it.
    if (isDatabaseError(error) && error.code === "26000")
      for (const name of this.#names()) Reflect.deleteProperty(connection.parsedStatements, name);
    super.handleError(error, connection);
  }

  *#names(): Iterable<string> {
    for (const { name } of this.#prelude.statements) if (name !== undefined) yield name;
    if (this.name !== undefined) yield this.name;
  }

  /**
   * Records which statements are prepared after the response; `pg` marks them as soon as any part of the message
   * succeeds.
   */
  #updatePreparedStatements(
    connection: WireConnection,
    textOf: (name: string) => string | undefined,
  ): void {
    const touched = lastTouched.get(connection);
    for (const name of new Set([
      ...this.#closedNames,
      ...this.#preparedTexts.keys(),
      ...this.#names(),
    ])) {
      const last = touched?.get(name);
      if (last === undefined) continue;
      const text = last === this ? textOf(name) : undefined;
      if (last === this) touched?.delete(name);
      if (text === undefined) Reflect.deleteProperty(connection.parsedStatements, name);
      else connection.parsedStatements[name] = text;
    }
  }

  // Rows and completions of the prelude arrive first and are ignored.
  override handleDataRow(message: DataRow): void {
    if (this.#pendingPrelude > 0) return;
    if (!this.#onRow) {
      super.handleDataRow(message);
      return;
    }
    this.#onRow(message.fields);
    this.#bytesReadInTurn += message.length;
    if (this.#bytesReadInTurn >= bytesPerTurn) this.#yieldToEventLoop();
  }

  /** Yields: otherwise the socket would be read within one tick for as long as data arrives. */
  #yieldToEventLoop(): void {
    this.#bytesReadInTurn = 0;
    this.#stream?.pause();
    setImmediate(() => this.#stream?.resume());
  }

  override handleCommandComplete(message: unknown, connection: WireConnection): void {
    if (this.#pendingPrelude === 0) {
      super.handleCommandComplete(message, connection);
      return;
    }
    this.#pendingPrelude--;
    if (this.#pendingPrelude === 0) this.#prelude.onDone?.();
  }
}
