import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import type { SearchDocument, SearchEngine } from "../gateways/search.ts";
import type { CollectionState } from "./state.ts";
import { batchSize } from "./state.ts";

/** The result of comparing the engine's documents with the database's rows. */
export interface Comparison {
  /** The number of documents in the engine. */
  documents: number;
  /** The number of rows in the database. */
  rows: number;
  /** Order-independent checksums of the engine's documents and of the expected documents. */
  engineChecksum: string;
  databaseChecksum: string;
  /** Ids whose document is missing, differs or should not exist, and that are not pending delivery. */
  different: string[];
}

type Effect<T> = (client: pg.ClientBase) => Promise<T>;
type InTenant = <T>(effect: Effect<T>) => Promise<T>;

/**
 * Compares the active version with the database in batches while both are in use. Differences are checked again and
 * then queued for delivery.
 */
export async function verifyCollection(
  engine: SearchEngine,
  inTenant: InTenant,
  state: CollectionState & { version: string },
): Promise<Comparison> {
  const { type, version } = state;
  const readExpected = (ids: readonly string[]) => documentsOf(inTenant, type, ids);
  const suspects: string[] = [];
  const sums = { engine: 0n, database: 0n };
  let documents = 0;
  let batch: SearchDocument[] = [];
  const compare = async () => {
    const expected = await readExpected(batch.map(({ id }) => id));
    for (const document of batch) {
      const row = expected.get(document.id);
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
  // With as many documents as rows, and a row for each document, none is missing.
  if (documents !== rows || suspects.length > 0)
    suspects.push(...(await findMissing(engine, inTenant, state)));
  const different = await recheck(engine, inTenant, state, suspects);
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

async function documentsOf(inTenant: InTenant, type: string, ids: readonly string[]) {
  const { rows } = await inTenant((client) =>
    client.query<{ id: string; document: SearchDocument }>(
      "select id, document from search_documents($1, $2)",
      [type, [...ids]],
    ),
  );
  return new Map(rows.map(({ id, document }) => [id, document]));
}

/** Returns the ids of rows without a document. */
async function findMissing(
  engine: SearchEngine,
  inTenant: InTenant,
  { type, version }: CollectionState & { version: string },
): Promise<string[]> {
  const found: string[] = [];
  let ids = await idsAfter(inTenant, type, null);
  while (ids.length > 0) {
    const actual = await engine.present(version, ids);
    found.push(...ids.filter((id) => !actual.has(id)));
    ids = await idsAfter(inTenant, type, ids.at(-1) ?? null);
  }
  return found;
}

async function idsAfter(inTenant: InTenant, type: string, after: string | null): Promise<string[]> {
  const { rows } = await inTenant((client) =>
    client.query<{ id: string }>("select i as id from search_ids($1, $2, $3) as i", [
      ...[type, after, batchSize],
    ]),
  );
  return rows.map(({ id }) => id);
}

/** Returns the ids that still differ and are not pending delivery; a pending change is no difference. */
async function recheck(
  engine: SearchEngine,
  inTenant: InTenant,
  { type, version }: CollectionState & { version: string },
  suspects: readonly string[],
): Promise<string[]> {
  const different: string[] = [];
  for (let from = 0; from < suspects.length; from += batchSize) {
    const ids = suspects.slice(from, from + batchSize);
    const actual = await engine.present(version, ids);
    const { expected, waiting } = await inTenant(async (client) => {
      const found = await client.query<{ id: string; document: SearchDocument }>(
        "select id, document from search_documents($1, $2)",
        [type, ids],
      );
      const waits = await client.query<{ id: string }>(
        "select w as id from waiting_search_documents($1, $2) as w",
        [type, ids],
      );
      return {
        expected: new Map(found.rows.map(({ id, document }) => [id, document])),
        waiting: new Set(waits.rows.map(({ id }) => id)),
      };
    });
    different.push(
      ...ids.filter(
        (id) => !waiting.has(id) && !isDeepStrictEqual(expected.get(id), actual.get(id)),
      ),
    );
  }
  return [...new Set(different)];
}

/** A 128-bit digest of a document, independent of field order. Sums of digests are independent of document order. */
function digest(document: SearchDocument): bigint {
  const fields = Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHash("sha256").update(JSON.stringify(fields)).digest("hex");
  return BigInt(`0x${hash.slice(0, 32)}`);
}

function hex(sum: bigint): string {
  return BigInt.asUintN(128, sum).toString(16).padStart(32, "0");
}
