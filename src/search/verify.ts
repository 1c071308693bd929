import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import type { SearchDocument, SearchEngine } from "../gateways/search.ts";
import type { CollectionState } from "./state.ts";
import { batchSize } from "./state.ts";

/** How well the engine's documents of a collection agree with the database's rows. */
export interface Comparison {
  /** Documents that the engine has. */
  documents: number;
  /** Rows that the database has. */
  rows: number;
  /** Of all documents of the engine, in any order; and of what the database says that these should be. */
  engineChecksum: string;
  databaseChecksum: string;
  /** Rows whose document is missing, is another, or should not be there, and which are not about to be told to the engine. */
  different: string[];
}

type Effect<T> = (client: pg.ClientBase) => Promise<T>;
type InArea = <T>(effect: Effect<T>) => Promise<T>;

/**
 * Compares each document of the version that serves with the database while both are in use. What differs is looked at again, and then
 * told to the engine anew. Documents are read a batch at a time.
 */
export async function verify(
  engine: SearchEngine,
  inTenant: InArea,
  state: CollectionState & { version: string },
): Promise<Comparison> {
  const { type, version } = state;
  const wanted = (ids: readonly string[]) => documentsOf(inTenant, type, ids);
  const suspects: string[] = [];
  const sums = { engine: 0n, database: 0n };
  let documents = 0;
  let batch: SearchDocument[] = [];
  const compare = async () => {
    const should = await wanted(batch.map(({ id }) => id));
    for (const document of batch) {
      const row = should.get(document.id);
      sums.engine += digest(document);
      sums.database += row ? digest(row) : 0n;
      if (!isDeepStrictEqual(row, document)) suspects.push(document.id);
    }
    documents += batch.length;
    batch = [];
  };
  for await (const document of engine.documents(version)) {
    batch.push(document);
    if (batch.length === batchSize) await compare();
  }
  await compare();

  const rows = await inTenant(async (client) => {
    const counted = await client.query<{ rows: string }>("select search_row_count($1) as rows", [
      type,
    ]);
    return Number(counted.rows[0]?.rows ?? 0);
  });
  // With as many documents as rows, and each of them a row's, none is missing.
  if (documents !== rows || suspects.length > 0)
    suspects.push(...(await missing(engine, inTenant, state)));
  const different = await lookAgain(engine, inTenant, state, suspects);
  if (different.length > 0)
    await inTenant((client) =>
      client.query("select request_search_documents($1, $2)", [type, different]),
    );
  return {
    documents,
    rows,
    engineChecksum: hex(sums.engine),
    databaseChecksum: hex(sums.database),
    different,
  };
}

async function documentsOf(inTenant: InArea, type: string, ids: readonly string[]) {
  const { rows } = await inTenant((client) =>
    client.query<{ id: string; document: SearchDocument }>(
      "select id, document from search_documents($1, $2)",
      [type, [...ids]],
    ),
  );
  return new Map(rows.map(({ id, document }) => [id, document]));
}

/** The ids of rows that the engine has no document of. */
async function missing(
  engine: SearchEngine,
  inTenant: InArea,
  { type, version }: CollectionState & { version: string },
): Promise<string[]> {
  const found: string[] = [];
  let ids = await idsAfter(inTenant, type, null);
  while (ids.length > 0) {
    const there = await engine.present(version, ids);
    found.push(...ids.filter((id) => !there.has(id)));
    ids = await idsAfter(inTenant, type, ids.at(-1) ?? null);
  }
  return found;
}

async function idsAfter(inTenant: InArea, type: string, after: string | null): Promise<string[]> {
  const { rows } = await inTenant((client) =>
    client.query<{ id: string }>("select i as id from search_ids($1, $2, $3) as i", [
      ...[type, after, batchSize],
    ]),
  );
  return rows.map(({ id }) => id);
}

/** Those that differ still, and of which the engine is not about to be told: what just changes is no difference. */
async function lookAgain(
  engine: SearchEngine,
  inTenant: InArea,
  { type, version }: CollectionState & { version: string },
  suspects: readonly string[],
): Promise<string[]> {
  const different: string[] = [];
  for (let from = 0; from < suspects.length; from += batchSize) {
    const ids = suspects.slice(from, from + batchSize);
    const there = await engine.present(version, ids);
    const { should, waiting } = await inTenant(async (client) => {
      const found = await client.query<{ id: string; document: SearchDocument }>(
        "select id, document from search_documents($1, $2)",
        [type, ids],
      );
      const waits = await client.query<{ id: string }>(
        "select w as id from waiting_search_documents($1, $2) as w",
        [type, ids],
      );
      return {
        should: new Map(found.rows.map(({ id, document }) => [id, document])),
        waiting: new Set(waits.rows.map(({ id }) => id)),
      };
    });
    different.push(
      ...ids.filter((id) => !waiting.has(id) && !isDeepStrictEqual(should.get(id), there.get(id))),
    );
  }
  return [...new Set(different)];
}

/** A number of 128 bits for a document, whatever the order of its fields; sums of them do not depend on the order of documents. */
function digest(document: SearchDocument): bigint {
  const fields = Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash("sha256").update(JSON.stringify(fields)).digest("hex");
  return BigInt(`0x${hash.slice(0, 32)}`);
}

function hex(sum: bigint): string {
  return BigInt.asUintN(128, sum).toString(16).padStart(32, "0");
}
