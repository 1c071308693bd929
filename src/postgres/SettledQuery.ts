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

/** What goes ahead of a statement: ones that are prepared on the connection already, or come with their text; and prepared ones to forget. */
export interface Opening {
  run: readonly Ahead[];
  forget?: readonly string[];
}

type Ahead = ({ name: string } | { text: string }) & { values: readonly (string | Buffer)[] };

type Callback = (error: Error | null, result: pg.QueryResult) => void;

/** What of the wire protocol a connection of `pg` speaks; its published types do not tell. */
interface WireConnection {
  parsedStatements: Record<string, string | undefined>;
  parse(message: { text: string }): void;
  bind(message: { statement?: string; values: readonly (string | Buffer)[] }): void;
  execute(message: object): void;
  close(message: { type: "S"; name: string }): void;
}

/** What `pg` asks of a query that it runs; its published types do not tell. */
type RunnableQuery = pg.Submittable & {
  prepare(connection: WireConnection): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: WireConnection): void;
};
// The class is public, what it is made of and what a subclass may override is not typed: pg's own query.js has it so.
const Query = pg.Query as unknown as new (
  config: object,
  values: undefined,
  callback: Callback,
) => RunnableQuery;

/** The connection of a client, which `pg` has on every client and types on none; its own cursors use it in the same way. */
export function wireOf(client: pg.ClientBase): WireConnection {
  return (client as unknown as { connection: WireConnection }).connection;
}

/**
 * A statement that travels with others before it in one message with a single Sync at its end: PostgreSQL runs them as one
 * transaction that ends with the message, unless one of them began one. What would be four round trips (begin, settings,
 * statement, commit) is one. (PostgreSQL 18, section 54.2.4, Pipelining.)
 */
export class SettledQuery extends Query {
  readonly #opening: Opening;
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
    for (const name of this.#opening.forget ?? []) {
      connection.close({ type: "S", name });
      Reflect.deleteProperty(connection.parsedStatements, name);
    }
    for (const ahead of this.#opening.run) {
      const { values } = ahead;
      if ("text" in ahead) connection.parse({ text: ahead.text });
      connection.bind("text" in ahead ? { values } : { statement: ahead.name, values });
      connection.execute({});
    }
    super.prepare(connection);
  }

  // Rows and ends of what went ahead come first; nobody asked for them.
  override handleDataRow(message: unknown): void {
    if (this.#toCome === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: WireConnection): void {
    if (this.#toCome > 0) this.#toCome--;
    else super.handleCommandComplete(message, connection);
  }
}
