import pg from "pg";

/** A statement as a caller gives it. */
export interface Statement {
  text: string;
  values?: readonly unknown[];
  /** Kept prepared on the connection under this name. */
  name?: string;
  /** Rows as lists of values instead of objects. */
  arrayMode?: boolean;
}

/** What goes ahead of a statement, and prepared ones to forget. */
export interface Opening {
  run: readonly Ahead[];
  forget?: readonly string[];
  /** Called when all of that is done, while the statement itself may still run. */
  onDone?: () => void;
}

/** A statement whose rows nobody asks for; prepared on the connection when it has a name. */
export interface Ahead {
  text: string;
  name?: string;
  values: readonly (string | Buffer | null)[];
}

type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** What of the wire protocol a connection of `pg` speaks; its published types do not tell. */
interface WireConnection {
  parsedStatements: Record<string, string | undefined>;
  /** Those of messages that have no answer yet. */
  submittedNamedStatements: Record<string, string | undefined>;
  parse(message: { text: string; name?: string }): void;
  bind(message: { statement?: string; values: Ahead["values"] }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
  flush(): void;
}

/** What `pg` asks of a query that it runs; its published types do not tell. */
type RunnableQuery = pg.Submittable & {
  name?: string;
  text: string;
  prepare(connection: WireConnection): void;
  handleDataRow(message: unknown): void;
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
 * A statement that travels with others before it in one message with a single Sync at its end: PostgreSQL runs them as one
 * transaction that ends with the message, unless one of them began one. What would be four round trips (begin, settings,
 * statement, commit) is one. (PostgreSQL 18, section 54.2.4, Pipelining.)
 */
export class SettledQuery extends Query {
  readonly #opening: Opening;
  readonly #made: { name: string; text: string }[] = [];
  #toCome: number;

  constructor(opening: Opening, statement: Statement, callback: Callback) {
    const { arrayMode, ...config } = statement;
    super(
      { ...config, queryMode: "extended", ...(arrayMode ? { rowMode: "array" } : {}) },
      undefined,
      callback,
    );
    this.#opening = opening;
    this.#toCome = opening.run.length;
  }

  override prepare(connection: WireConnection): void {
    const { parsedStatements } = connection;
    for (const name of this.#opening.forget ?? []) {
      connection.close({ type: "S", name });
      Reflect.deleteProperty(parsedStatements, name);
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
    connection.close({ type: "S", name });
    Reflect.deleteProperty(connection.submittedNamedStatements, name);
    this.#made.push({ name, text });
    return true;
  }

  override handleReadyForQuery(connection: WireConnection): void {
    for (const { name, text } of this.#made) connection.parsedStatements[name] = text;
    super.handleReadyForQuery(connection);
  }

  // What of it was prepared before it failed is not told.
  override handleError(error: Error, connection: WireConnection): void {
    for (const { name } of this.#made) Reflect.deleteProperty(connection.parsedStatements, name);
    super.handleError(error, connection);
  }

  // Rows and ends of what went ahead come first; nobody asked for them.
  override handleDataRow(message: unknown): void {
    if (this.#toCome === 0) super.handleDataRow(message);
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
