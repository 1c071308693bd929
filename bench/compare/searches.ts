import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { migrate } from "../../src/migration/migrate.ts";
import { startLocalPostgres } from "../../dev/emulators/postgres.ts";
import { type Wine, readWines } from "../wines.ts";
import { load, makeClient } from "./client.ts";
import { end, launch, messageOf, openSession } from "./ownProcess.ts";
import { cpuSecondsOfPostgres } from "./processes.ts";

/** A query of products: 50 rows of a search, or aggregates of all matches. */
const page = (args = "") => `query ($query: String) { products(query: $query, first: 50${args}) {
  nodes { id erpProductNumber name vintage producer country } } }`;
const searches: Record<string, { document: string; query?: string }> = {
  "no search": { document: page() },
  "common word: chardonnay": { document: page(), query: "chardonnay" },
  "word of 1 in 70: barolo": { document: page(), query: "barolo" },
  "word of 1 in 600: pauillac": { document: page(), query: "pauillac" },
  "rare word: vulka": { document: page(), query: "vulka" },
  "one row by its number": { document: page(), query: "erpProductNumber:W000000" },
  "missing word": { document: page(), query: "shinass" },
  "two words: pinot willamette": { document: page(), query: "pinot willamette" },
  "two words: barolo riserva": { document: page(), query: "barolo riserva" },
  "either word: vulka OR barolo": { document: page(), query: "vulka OR barolo" },
  "without a word: -chardonnay": { document: page(), query: "-chardonnay" },
  "beginning: zin*": { document: page(), query: "zin*" },
  "beginning late in the order: william*": { document: page(), query: "william*" },
  "two letters: ba": { document: page(), query: "ba" },
  "a producer: producer:Trimbach": { document: page(), query: "producer:Trimbach" },
  "a country of few: country:Georgia": { document: page(), query: "country:Georgia" },
  "word and vintage: vintage:2010 barolo": { document: page(), query: "vintage:2010 barolo" },
  "barolo by vintage": { document: page(", orderBy: [VINTAGE_DESC]"), query: "barolo" },
  "barolo, newest first": { document: page(", orderBy: [CREATED_AT_DESC]"), query: "barolo" },
  "zin*, newest first": { document: page(", orderBy: [CREATED_AT_DESC]"), query: "zin*" },
  "barolo, last 50": { document: page().replace("first", "last"), query: "barolo" },
  "barolo with its total": {
    document: page(", includeTotalCount: true").replace("nodes", "totalCount nodes"),
    query: "barolo",
  },
  "groups by country": {
    document: `{ products { groupedAggregates(groupBy: [COUNTRY]) { keys count } } }`,
  },
};

/** Milliseconds for each request: response time, and processor time of the database. */
interface Figures {
  p50: number;
  databaseMs: number;
}

/** The cost of searches with this many copies of each wine, on one connection. */
export async function measureSearches(
  file: string,
  copies: readonly number[],
  durationMs: number,
): Promise<void> {
  const wines = readWines(file);
  const found = new Map<number, Map<string, Figures>>();
  for (const times of copies) found.set(times, await withCopies(wines, times, durationMs));
  print("p50, ms", found, ({ p50 }) => p50);
  print("processor time of the database, ms", found, ({ databaseMs }) => databaseMs);
}

async function withCopies(wines: readonly Wine[], times: number, durationMs: number) {
  const database = await startLocalPostgres({
    dataDir: join(tmpdir(), `searches-bench-${randomUUID()}`),
    log: () => {},
    ephemeral: true,
    postgresFlags: ["-c", "shared_buffers=2GB", "-c", "work_mem=16MB"],
  });
  const admin = new pg.Client({
    connectionString: database.url,
    options: "-c search_path=backoffice,extensions",
  });
  // The database may stop before this connection is closed.
  admin.on("error", () => {});
  try {
    await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
    await admin.connect();
    await fill(admin, wines, times);
    const token = await openSession(admin);
    const child = await launch("src/server.ts", database.url);
    const { url } = await messageOf<{ url: string }>(child);
    const { send, close } = makeClient(`${url}/graphql`, 1, { authorization: `Bearer ${token}` });
    const figures = new Map<string, Figures>();
    for (const [name, { document, query }] of Object.entries(searches)) {
      const body = JSON.stringify({ query: document, variables: { query } });
      const answer = JSON.parse(await send(body)) as { errors?: unknown };
      assert.equal(answer.errors, undefined, JSON.stringify(answer.errors));
      // Warms up.
      await load(send, () => body, 1, durationMs / 3);
      const before = cpuSecondsOfPostgres(database.pid);
      const { p50, requests } = await load(send, () => body, 1, durationMs);
      const databaseMs = ((cpuSecondsOfPostgres(database.pid) - before) / requests) * 1000;
      figures.set(name, { p50, databaseMs });
    }
    close();
    await end(child);
    return figures;
  } finally {
    await admin.end();
    await database.stop();
  }
}

/**
 * Fills the products with this many copies of each wine. A copy has the name of its wine and the producer of another
 * one, so that word frequencies stay the same and copies are not adjacent in the order of names.
 */
async function fill(client: pg.ClientBase, wines: readonly Wine[], times: number): Promise<void> {
  await client.query("set session_replication_role = replica");
  await client.query(
    `with wines as materialized (
       select w.*, row_number() over () as place, count(*) over () as n from json_to_recordset($1) as w(
         erp_product_number text, name text, vintage text, producer text, variety text, country text, province text, region text,
         review text) where is_label(w.name, 150) and length(w.producer) between 1 and 100
     )
     insert into products (erp_product_number, name, vintage, producer, grape_variety, country, province, region, description)
       select w.erp_product_number || case when c = 0 then '' else '-' || c end,
         case when c = 0 then w.name else o.producer || ' ' || ltrim(replace(w.name, w.producer, '')) || ' ' || c end,
         nullif(w.vintage, '')::integer, case when c = 0 then w.producer else o.producer end, nullif(w.variety, ''),
         nullif(w.country, ''), nullif(w.province, ''), nullif(w.region, ''), w.review
       from generate_series(0, $2::integer - 1) as c cross join wines w
         join wines o on o.place = 1 + (w.place * 2741 + c * 1327) % w.n
       order by md5(w.erp_product_number || c)`,
    [JSON.stringify(wines), times],
  );
  await client.query("set session_replication_role = default");
  await client.query("vacuum analyze");
}

function print(
  title: string,
  table: ReadonlyMap<number, ReadonlyMap<string, Figures>>,
  show: (figures: Figures) => number,
): void {
  const line = (first: string, cells: readonly string[]) =>
    console.log(first.padEnd(42) + cells.map((cell) => cell.padStart(10)).join(""));
  console.log("");
  line(title, [...[...table.keys()].map((times) => `${times}x`), "growth"]);
  for (const name of Object.keys(searches)) {
    const values = [...table.values()].flatMap((figures) => {
      const one = figures.get(name);
      return one ? [show(one)] : [];
    });
    const growth = (values.at(-1) ?? 0) / (values[0] ?? 1);
    line(`  ${name}`, [...values.map((value) => value.toFixed(2)), growth.toFixed(1)]);
  }
}
