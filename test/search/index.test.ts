import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { uniquePrefix } from "../helpers/sharedEngine.ts";
import { startProxy } from "../helpers/proxy.ts";
import { waitFor } from "../helpers/waitFor.ts";
import type { WorkerProcess } from "../helpers/workers/workerProcess.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { SearchService } from "../helpers/search/searchService.ts";
import { startSearchService } from "../helpers/search/searchService.ts";

// As when several deployments share an engine.
const prefix = uniquePrefix();
let search: SearchService;
let worker: WorkerProcess;
const query = (sql: string, values: unknown[] = []) =>
  search.service.database.pool.query(sql, values);

beforeAll(async () => {
  search = await startSearchService({ TYPESENSE_PREFIX: prefix });
  worker = await search.startWorker();
  await settled();
});
afterEach(() => search.proxy.restore());
afterAll(async () => {
  await endWorkers();
  await search.stop();
});

/** Waits until all changes are delivered and all collections are built. */
async function settled(): Promise<void> {
  await waitFor("the search engine to be up to date", async () => {
    const { rows } = await query(
      `select (select count(*) from row_changes where reader = 'search')::integer as waiting,
           (select count(*) from search_catalogue c left join search_indexes i using (collection)
            where i.signature is distinct from c.signature or i.building is not null)::integer as unbuilt`,
    );
    return rows[0].waiting === 0 && rows[0].unbuilt === 0;
  });
}

async function ask(text: string, variables: Record<string, unknown> = {}) {
  const { data, errors } = await search.service.ask(text, { token: search.staff.token, variables });
  expect(errors).toBeUndefined();
  return data;
}

const sync = (number: string, fields: Record<string, unknown>) =>
  ask(
    `mutation ($input: SyncProductsInput!) { syncProducts(input: $input) { results { status } } }`,
    {
      input: { products: [{ erpProductNumber: number, fields }] },
    },
  );

describe("a database change", () => {
  test("is searchable within two seconds: inserts, updates and deletes, also in related rows", async () => {
    await query("insert into wine_types (name, color) values ('Skin contact', '#AA5500')");
    const took: number[] = [];
    for (const name of ["Nebbiolo", "Barbera", "Gewürztraminer Altenberg"]) {
      await sync("S1", { name, vintage: 2019 });
      const since = performance.now();
      await search.finds(name === "Nebbiolo" ? "nebiolo" : name, [name]);
      took.push(performance.now() - since);
    }
    await search.finds("gewurztraminer", ["Gewürztraminer Altenberg"]);
    await sync("S1", { name: "Riesling Altenberg" });
    await search.finds("riesling", ["Riesling Altenberg"]);
    await search.finds("gewurztraminer", []);
    // A change made by SQL.
    await query(
      "update products set name = 'Sylvaner', wine_type_id = (select id from wine_types where name = 'Skin contact') where erp_product_number = 'S1'",
    );
    await search.finds("sylvaner", ["Sylvaner"]);
    await query("update wine_types set name = 'Orange' where name = 'Skin contact'");
    await search.finds("orange", ["Orange"], { field: "wineTypeName" });
    await query(
      "insert into product_prices (product_id, type, currency, amount) select id, 'retail', 'DKK', 129.5 from products where erp_product_number = 'S1'",
    );
    await waitFor(
      "the price",
      async () => (await search.find("*", { filter_by: "listPrice:129.5" })).length === 1,
    );
    await query("delete from products where erp_product_number = 'S1'");
    await search.finds("sylvaner", []);
    expect(Math.min(...took)).toBeLessThan(15_000);
  });

  test("is recorded without locks between transactions and without waking a worker", async () => {
    const { pool } = search.service.database;
    const [slow, quick] = [await pool.connect(), await pool.connect()];
    try {
      for (const [client, number] of [[slow, "W1"] as const, [quick, "W2"] as const]) {
        await client.query("begin; set local lock_timeout = '1s'");
        await client.query(
          "insert into products (erp_product_number, name) values ($1, 'Patience')",
          [number],
        );
      }
      // Runs the commit's deferred checks without committing.
      await slow.query("set constraints all immediate");
      const { rows } = await slow.query(
        "select from graphile_worker._private_jobs where xmin = pg_current_xact_id()::xid",
      );
      expect(rows).toEqual([]);
      await quick.query("commit");
      await search.finds("patience", ["Patience"]);
      await slow.query("commit");
    } finally {
      slow.release();
      quick.release();
    }
    await search.finds("patience", ["Patience", "Patience"]);
    await query("delete from products where name = 'Patience'");
    await search.finds("patience", []);
  });

  test("arrives for statements with many rows and for truncated tables", async () => {
    await query(
      "insert into products (erp_product_number, name) select 'M' || n, 'Many ' || n from generate_series(1, 1200) as n",
    );
    await settled();
    expect(await total("*")).toBe(1200);
    await query("truncate products cascade");
    await settled();
    expect(await total("*")).toBe(0);
  });

  test("arrives except for documents that the engine rejects, which are reported and retried", async () => {
    const version = (await search.admin.aliases(search.nameOf("products")).retrieve())
      .collection_name;
    const make = (type: "bool" | "int32") =>
      search.admin.collections(version).update({
        fields: [
          { name: "vintage", drop: true },
          { name: "vintage", type, facet: true, optional: true },
        ],
      });
    await make("bool");
    const logged = worker.output().length;
    await query(
      "insert into products (erp_product_number, name, vintage) values ('V1', 'Taken', null), ('V2', 'Refused', 1999), ('V3', 'Taken', null)",
    );
    await search.finds("taken", ["Taken", "Taken"]);
    await settled();
    const status = async () => {
      const { searchStatus } = await ask("{ searchStatus { type refused } }");
      return searchStatus.find(({ type }: { type: string }) => type === "products").refused;
    };
    expect(await status()).toBe(1);
    const { rows } = await query(
      "select p.name, f.message from search_failures f join products p on p.id = f.document_id",
    );
    expect(rows).toEqual([{ name: "Refused", message: expect.stringContaining("vintage") }]);
    await waitFor("the line in the log", () =>
      worker.output().slice(logged).includes("rejected documents"),
    );
    await search.finds("refused", []);
    // The error is fixed in the engine; the row does not change.
    await make("int32");
    await query("select queue_search_indexing(true)");
    await search.finds("refused", ["Refused"]);
    await settled();
    expect(await status()).toBe(0);
    await query("delete from products where erp_product_number like 'V%'");
    await settled();
  });

  test("waits while the engine is unreachable without blocking others, and arrives later", async () => {
    await search.proxy.cut();
    await sync("A1", { name: "Away one" });
    await sync("A2", { name: "Away two" });
    await query("delete from products where erp_product_number = 'A1'");
    const waiting = await query(
      "select count(*)::integer as n from row_changes where reader = 'search'",
    );
    expect(waiting.rows[0].n).toBeGreaterThanOrEqual(3);
    const { searchStatus, searchCollections } = await ask(
      "{ searchStatus { type collectionName waiting waitingSince enabled } searchCollections { collectionName } }",
    );
    expect(searchCollections).toContainEqual({ collectionName: search.nameOf("products") });
    const products = searchStatus.find(({ type }: { type: string }) => type === "products");
    expect(products).toMatchObject({ enabled: true, collectionName: search.nameOf("products") });
    expect(products.waiting).toBeGreaterThanOrEqual(3);
    expect(Date.parse(products.waitingSince)).toBeLessThanOrEqual(Date.now());
    await search.proxy.restore();
    await search.finds("away", ["Away two"]);
    await settled();
  });

  test("is not needed to notice that the engine is down and up again", async () => {
    const outage = async () =>
      (await query("select down_at, error from search_engine_state where down_at is not null"))
        .rows[0];
    await settled();
    // The worker records the end of the previous test's outage after it has delivered the changes.
    await waitFor("the last outage to end", async () => !(await outage()));
    await search.proxy.cut();
    await query("select queue_search_indexing(true)");
    const down = await waitFor("the outage to be recorded", outage);
    expect(down.error).toMatch(/^The search engine /);
    // A job without changes does not call the engine.
    await query("select queue_search_indexing()");
    await waitFor("the job without changes", async () => {
      const { rows } = await query("select is_queued('index_search', 'changes') as queued");
      return !rows[0].queued;
    });
    expect(await outage()).toEqual(down);
    const { rows } = await query("select from row_changes where reader = 'search'");
    expect(rows).toEqual([]);
    await search.proxy.restore();
    await waitFor("the end of the outage to be recorded", async () => !(await outage()));
  });

  test("arrives completely when the worker is killed repeatedly", async () => {
    for (let round = 1; round <= 3; round++) {
      await query(
        "insert into products (erp_product_number, name) select $1 || n, 'Killed ' || n from generate_series(1, 1500) as n",
        [`K${round}-`],
      );
      await query("update products set vintage = 1990 + $1 where erp_product_number like 'K%'", [
        round,
      ]);
      await query("delete from products where erp_product_number like $1", [`K${round}-1%`]);
      const before = worker;
      await waitFor("the worker to be at it", async () => {
        const { rows } = await query(
          "select count(*)::integer as n from row_changes where reader = 'search'",
        );
        return rows[0].n > 0 && rows[0].n < 3000;
      });
      before.signal("SIGKILL");
      worker = await search.startWorker();
    }
    await settled();
    const { rows } = await query(
      "select count(*)::integer as n from products where vintage = 1993",
    );
    expect(await total("*", "vintage:1993")).toBe(rows[0].n);
    expect(await total("*")).toBe(
      (await query("select count(*)::integer as n from products")).rows[0].n,
    );
    await query("delete from products where erp_product_number like 'K%'");
    await settled();
  });

  test("ends in its newest form when a worker is paused while it sends an older one", async () => {
    worker.signal("SIGTERM");
    await worker.exited;
    const proxy = await startProxy(search.env["TYPESENSE_PUBLIC_URL"] ?? "");
    try {
      const frozen = await search.startWorker({ TYPESENSE_URL: new URL(proxy.url).origin });
      const { seen, release } = proxy.holdRequest("Of before");
      await query(
        "insert into products (erp_product_number, name) values ('Z1', 'Of before the frost')",
      );
      await seen;
      frozen.signal("SIGSTOP");
      await query("update products set name = 'Of after it' where erp_product_number = 'Z1'");
      worker = await search.startWorker();
      await search.finds("of", ["Of after it"]);
      // The older document reaches the engine after the newer one.
      release();
      await search.finds("of", ["Of before the frost"]);
      frozen.signal("SIGCONT");
      await search.finds("of", ["Of after it"]);
      await frozen.exited;
      await settled();
      await search.finds("of", ["Of after it"]);
    } finally {
      await proxy.stop();
    }
    await query("delete from products where erp_product_number = 'Z1'");
    await settled();
  });

  test("is found by every search during repeated rebuilds", async () => {
    await query(
      "insert into products (erp_product_number, name) select 'R' || n, 'Rebuilt ' || n from generate_series(1, 1500) as n",
    );
    await settled();
    const first = (await query("select version from search_indexes where collection = 'products'"))
      .rows[0].version as string;
    let searches = 0;
    const failures: unknown[] = [];
    let over = false;
    const searching = (async () => {
      while (!over) {
        const found = await total("rebuilt").catch((error: unknown) => {
          failures.push(error);
          return 1500;
        });
        if (found !== 1500) failures.push(`found ${found}`);
        searches++;
      }
    })();
    for (let round = 0; round < 3; round++) {
      await query("select request_search_build('products')");
      await settled();
    }
    over = true;
    await searching;
    expect(failures).toEqual([]);
    expect(searches).toBeGreaterThan(5);
    const versions = await waitFor("the old versions to be dropped", async () => {
      const names = (await search.admin.collections().retrieve()).map(({ name }) => name);
      const own = names.filter((name) => name.startsWith(`${prefix}products-`));
      return own.length === 1 && own;
    });
    expect(versions).not.toContain(prefix + first);
  });

  test("includes the fields that a migration adds, and no search fails meanwhile", async () => {
    await query(`
      begin;
      set local role office_owner;
      alter table products add column cellar text;
      comment on column products.cellar is '@searchIndex searchable facet
Where it lies.';
      select protect_search();
      commit`);
    await query("update products set cellar = 'North vault' where erp_product_number = 'R1'");
    await search.finds("vault", ["North vault"], { field: "cellar" });
    const { searchConfig } = await ask(
      `{ searchConfig(type: "products") { columns { name title } facetFields } }`,
    );
    expect(searchConfig.columns).toContainEqual({ name: "cellar", title: "Cellar" });
    expect(searchConfig.facetFields).toContain("cellar");
    await settled();
  });

  test("is searched with keys of the current admin key; older ones are removed from the engine", async () => {
    const older = '["search","' + prefix + 'backoffice",0,["products"]]';
    const keyFor = async (mark: string) => {
      const made = await search.admin.keys().create({
        description: `back-office ${mark} ${older}`,
        actions: ["documents:search"],
        collections: [search.nameOf("products")],
      });
      return made.id;
    };
    const [noted, unknown] = [await keyFor("0123456789ab"), await keyFor("ba9876543210")];
    await query(
      "insert into search_keys (mark, generation, collections, engine_id) values ('0123456789ab', 0, '{products}', $1)",
      [noted],
    );
    const own = await search.config("products");
    const present = async () => (await search.admin.keys().retrieve()).keys.map(({ id }) => id);
    const isRetired = async () => {
      const { rows } = await query(
        "select from search_keys where retired_at > now() + interval '15 minutes'",
      );
      return rows.length === 2;
    };
    await query("select queue_search_indexing(true)");
    await waitFor("both to be about to end", isRetired);
    // Keys derived from them work until they expire.
    expect(await present()).toEqual(expect.arrayContaining([noted, unknown]));
    await query("update search_keys set retired_at = now() where retired_at is not null");
    await query("select queue_search_indexing(true)");
    await waitFor("both to be gone", async () => {
      const ids = await present();
      return !ids.includes(noted) && !ids.includes(unknown);
    });
    const documents = search.client(own.scopedApiKey).collections(own.collectionName).documents();
    expect(await documents.search({ q: "*" })).toHaveProperty("found");
    await waitFor(
      "both to be forgotten",
      async () =>
        (await query("select from search_keys where retired_at is not null")).rows.length === 0,
    );
  });

  test("is sent again to an engine that has lost collections, aliases or keys", async () => {
    const { collectionName, scopedApiKey } = await search.config("products");
    const version = (await search.admin.aliases(collectionName).retrieve()).collection_name;
    await search.admin.collections(version).delete();
    for (const { id, description = "" } of (await search.admin.keys().retrieve()).keys)
      if (description.includes(prefix)) await search.admin.keys(id).delete();
    await query("select queue_search_indexing(true)");
    await waitFor("the collection to be back", async () => {
      const found = await search
        .client(scopedApiKey)
        .collections(collectionName)
        .documents()
        .search({ q: "rebuilt", query_by: "name" })
        .catch(() => null);
      return found?.found === 1500;
    });
  });
});

/** The number of matches, without waiting for pending changes. */
async function total(q: string, filter_by?: string): Promise<number> {
  const { collectionName, scopedApiKey } = await key();
  const { found } = await search
    .client(scopedApiKey)
    .collections(collectionName)
    .documents()
    .search({ q, query_by: "name", per_page: 1, ...(filter_by && { filter_by }) });
  return found;
}

let kept: Awaited<ReturnType<SearchService["config"]>> | undefined;
const key = async () => (kept ??= await search.config("products"));
