import type { Duplex } from "node:stream";
import pg from "pg";
import { bytesPerTurn } from "../process/yieldToEventLoop.ts";
import { isDatabaseError } from "../errors/databaseErrors.ts";

/** A statement as a caller gives it. */
export interface Statement {
  text: string;
  values?: readonly unknown[];
  /** Kept prepared on the connection under this name. */
  name?: string;
  /** Rows as lists of values instead of objects. */
  arrayMode?: boolean;
  /** Is given each row as it comes, its values as the database writes them; the result has no rows then. */
  onRow?: (values: Values) => void;
}

/** The values of a row as the database writes them. */
type Values = readonly (string | null)[];

interface DataRow {
  fields: Values;
  /** In bytes. */
  length: number;
}

/** What goes ahead of a statement, and prepared ones to forget. */
export interface Prelude {
  run: readonly PreludeStatement[];
  forget?: readonly string[];
  /** Called when all of that is done, while the statement itself may still run. */
  onDone?: () => void;
}

/** A statement whose rows nobody asks for; prepared on the connection when it has a name. */
export interface PreludeStatement {
  text: string;
  name?: string;
  values: readonly (string | Buffer | null)[];
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** What of the wire protocol a connection of `pg` speaks; its published types do not tell. */
interface WireConnection {
  stream: Duplex;
  parsedStatements: Record<string, string | undefined>;
  /** Those of messages that have no answer yet. */
  submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { text: string; name?: string }): void;
  bind(message: { statement?: string; values: PreludeStatement["values"] }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
  flush(): void;
}

/** What `pg` asks of a query that it runs; its published types do not tell. */
type RunnableQuery = pg.Submittable & {
  name?: string;
  text: string;
  prepare(connection: WireConnection): void;
  handleDataRow(message: DataRow): void;
  handleCommandComplete(message: unknown, connection: WireConnection): void;
  handleError(error: Error, connection: WireConnection): void;
  handleReadyForQuery(connection: WireConnection): void;
};
// The class is public, what it is made of and what a subclass may override is not typed: pg's own query.js has it so.
const Query = pg.Query as unknown as new (
  config: object,
  values: undefined,
  callback: Callback,
) => RunnableQuery;

/**
 * For each connection and name, the message under way that was the last to prepare or to close a statement of that name: what those
 * before it did does not count any more, though their answers come first.
 */
const lastTouched = new WeakMap<WireConnection, Map<string, PipelinedQuery>>();

/**
 * A statement that travels with others before it in one message with a single Sync at its end: PostgreSQL runs them as one
 * transaction that ends with the message, unless one of them began one. What would be four round trips (begin, settings,
 * statement, commit) is one. (PostgreSQL 18, section 54.2.4, Pipelining.)
 */
export class PipelinedQuery extends Query {
  readonly #opening: Prelude;
  readonly #onRow: Statement["onRow"];
  /** The texts of those that it prepares, by name. */
  readonly #made = new Map<string, string>();
  readonly #forgotten: string[] = [];
  #toCome: number;
  #stream: Duplex | undefined;
  #readInTurn = 0;

  constructor(prelude: Prelude, statement: Statement, callback: Callback) {
    const { arrayMode, onRow, ...config } = statement;
    super(
      { ...config, queryMode: "extended", ...(arrayMode ? { rowMode: "array" } : {}) },
      undefined,
      callback,
    );
    this.#opening = prelude;
    this.#onRow = onRow;
    this.#toCome = prelude.run.length;
  }

  override prepare(connection: WireConnection): void {
    this.#stream = connection.stream;
    for (const name of this.#opening.forget ?? []) {
      this.#close(connection, name);
      this.#forgotten.push(name);
    }
    for (const { text, name, values } of this.#opening.run) {
      if (name === undefined) connection.parse({ text });
      else if (this.#isNew(connection, name, text)) connection.parse({ text, name });
      connection.bind(name === undefined ? { values } : { statement: name, values });
      connection.execute({});
    }
    // Told at once: otherwise PostgreSQL keeps it until there is more to tell.
    if (this.#opening.onDone) connection.flush();
    if (this.name !== undefined) this.#isNew(connection, this.name, this.text);
    super.prepare(connection);
  }

  /**
   * Whether a statement is to be prepared. One of its name may be there from a message that failed, or from one before this that is
   * not answered yet and may still fail: it goes.
   */
  #isNew(connection: WireConnection, name: string, text: string): boolean {
    if (connection.parsedStatements[name] !== undefined) return false;
    this.#close(connection, name);
    this.#made.set(name, text);
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
    this.#settle(connection, (name) => this.#made.get(name));
    super.handleReadyForQuery(connection);
  }

  override handleError(error: Error, connection: WireConnection): void {
    // What of it was prepared before it failed is not told.
    this.#settle(connection, () => undefined);
    // One that was there is not: whoever needs it next makes it anew.
    if (isDatabaseError(error) && error.code === "26000")
      for (const name of this.#names()) Reflect.deleteProperty(connection.parsedStatements, name);
    super.handleError(error, connection);
  }

  *#names(): Iterable<string> {
    for (const { name } of this.#opening.run) if (name !== undefined) yield name;
    if (this.name !== undefined) yield this.name;
  }

  /**
   * Notes what is prepared now that this is answered: `pg` takes the statement of a message for prepared as soon as anything of the
   * message is.
   */
  #settle(connection: WireConnection, textOf: (name: string) => string | undefined): void {
    const touched = lastTouched.get(connection);
    for (const name of new Set([...this.#forgotten, ...this.#made.keys(), ...this.#names()])) {
      const last = touched?.get(name);
      if (last === undefined) continue;
      const text = last === this ? textOf(name) : undefined;
      if (last === this) touched?.delete(name);
      if (text === undefined) Reflect.deleteProperty(connection.parsedStatements, name);
      else connection.parsedStatements[name] = text;
    }
  }

  // Rows and ends of what went ahead come first; nobody asked for them.
  override handleDataRow(message: DataRow): void {
    if (this.#toCome > 0) return;
    if (!this.#onRow) {
      super.handleDataRow(message);
      return;
    }
    this.#onRow(message.fields);
    this.#readInTurn += message.length;
    if (this.#readInTurn >= bytesPerTurn) this.#giveWay();
  }

  /** The system would be asked for more in the same turn for as long as the database has more. */
  #giveWay(): void {
    this.#readInTurn = 0;
    this.#stream?.pause();
    setImmediate(() => this.#stream?.resume());
  }

  override handleCommandComplete(message: unknown, connection: WireConnection): void {
    if (this.#toCome === 0) {
      super.handleCommandComplete(message, connection);
      return;
    }
    this.#toCome--;
    if (this.#toCome === 0) this.#opening.onDone?.();
  }
}
