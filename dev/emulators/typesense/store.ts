import { mkdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import type { JsonObject } from "./problem.ts";
import { parseObject } from "./problem.ts";
import type { Schema } from "./schema.ts";
import type { StoredDocument } from "./storedDocument.ts";

/** An API key, as Typesense shows it when it is created. */
export interface ApiKey {
  id: number;
  value: string;
  description: string;
  actions: readonly string[];
  /** Names, or regular expressions that match the whole name. */
  collections: readonly string[];
  /** In seconds since 1970. */
  expires_at: number;
  autodelete: boolean;
}

/** Stores the data of the engine on disk, for the next start. */
export class Store {
  readonly #database: DatabaseSync;
  readonly #saveDocument: StatementSync;

  /** @throws when the folder cannot be written to */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#database = new DatabaseSync(path.join(folder, "engine.sqlite"));
    // Losing the last second is harmless: the service can rebuild every collection.
    this.#database.exec(`
      pragma journal_mode = wal;
      pragma synchronous = normal;
      create table if not exists collections (name text primary key, schema text, created_at integer);
      create table if not exists documents (
        collection text, number integer, document text, primary key (collection, number)
      ) without rowid;
      create table if not exists aliases (name text primary key, collection text);
      create table if not exists keys (id integer primary key autoincrement, value text);
    `);
    this.#saveDocument = this.#database.prepare(
      "insert or replace into documents values (?, ?, ?)",
    );
  }

  /** Runs `work` in a transaction. */
  transaction<T>(work: () => T): T {
    this.#database.exec("begin");
    try {
      const result = work();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      this.#database.exec("rollback");
      throw error;
    }
  }

  collections(): { schema: Schema; createdAt: number }[] {
    return this.#database
      .prepare("select schema, created_at from collections order by created_at, rowid")
      .all()
      .map((row) => ({
        schema: JSON.parse(String(row.schema)) as Schema,
        createdAt: Number(row.created_at),
      }));
  }

  saveCollection(schema: Schema, createdAt: number): void {
    this.#database
      .prepare(
        "insert into collections values (?, ?, ?) on conflict (name) do update set schema = excluded.schema",
      )
      .run(schema.name, JSON.stringify(schema), createdAt);
  }

  dropCollection(name: string): void {
    this.#database.prepare("delete from collections where name = ?").run(name);
    this.#database.prepare("delete from documents where collection = ?").run(name);
  }

  *documents(
    collection: string,
  ): Generator<{ number: number; document: JsonObject & { id: string } }> {
    const rows = this.#database
      .prepare("select number, document from documents where collection = ? order by number")
      .iterate(collection);
    for (const row of rows)
      yield {
        number: Number(row.number),
        document: parseObject(String(row.document)) as JsonObject & { id: string },
      };
  }

  saveDocument(collection: string, { number, document }: StoredDocument): void {
    this.#saveDocument.run(collection, number, JSON.stringify(document));
  }

  dropDocument(collection: string, { number }: StoredDocument): void {
    this.#database
      .prepare("delete from documents where collection = ? and number = ?")
      .run(collection, number);
  }

  aliases(): [name: string, collection: string][] {
    return this.#database
      .prepare("select name, collection from aliases order by name")
      .all()
      .map((row) => [String(row.name), String(row.collection)]);
  }

  saveAlias(name: string, collection: string): void {
    this.#database.prepare("insert or replace into aliases values (?, ?)").run(name, collection);
  }

  dropAlias(name: string): void {
    this.#database.prepare("delete from aliases where name = ?").run(name);
  }

  keys(): ApiKey[] {
    return this.#database
      .prepare("select id, value from keys order by id")
      .all()
      .map((row) => ({
        ...(JSON.parse(String(row.value)) as Omit<ApiKey, "id">),
        id: Number(row.id),
      }));
  }

  /** @returns the key with its id, which is never reused */
  addKey(key: Omit<ApiKey, "id">): ApiKey {
    const { lastInsertRowid } = this.#database
      .prepare("insert into keys (value) values (?)")
      .run(JSON.stringify(key));
    return { ...key, id: Number(lastInsertRowid) };
  }

  dropKey(id: number): void {
    this.#database.prepare("delete from keys where id = ?").run(id);
  }

  close(): void {
    this.#database.close();
  }
}
