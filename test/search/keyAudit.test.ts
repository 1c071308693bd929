import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Answer } from "../helpers/service.ts";
import { endWorkers } from "../helpers/workers/workerProcess.ts";
import type { SearchService } from "../helpers/search/searchService.ts";
import { startSearchService } from "../helpers/search/searchService.ts";

let search: SearchService;

beforeAll(async () => {
  search = await startSearchService();
});
afterAll(async () => {
  await endWorkers();
  await search.stop();
});

async function ask(query: string, token = search.staff.token): Promise<Answer> {
  const answer = await search.service.ask(query, { token });
  expect(answer.errors).toBeUndefined();
  return answer;
}

async function recordsOf({ headers }: Answer): Promise<Record<string, unknown>[]> {
  const { rows } = await search.service.database.pool.query<Record<string, unknown>>(
    `select actor_user_id as actor, operation, entity_type as type, entity_id as id, metadata - 'source' as metadata
     from audit_log where correlation_id = $1 order by id`,
    [headers.get("x-correlation-id")],
  );
  return rows;
}

test.each(["customers", "orders"])("records the issue of a key to %s", async (type) => {
  const answer = await ask(`{ searchConfig(type: "${type}") { scopedApiKey expiresAt } }`);
  const { scopedApiKey, expiresAt } = answer.data.searchConfig;
  const records = await recordsOf(answer);
  expect(records).toEqual([
    {
      actor: search.staff.userId,
      operation: "READ",
      type: "SearchKey",
      id: null,
      metadata: { field: "searchConfig", collections: [type], expiresAt },
    },
  ]);
  expect(JSON.stringify(records)).not.toContain(scopedApiKey);
});

test("records a key of the global search with all its collections, once", async () => {
  const answer = await ask(
    "{ globalSearchConfig { scopedApiKey expiresAt searches { collection } } }",
  );
  expect(await recordsOf(answer)).toMatchObject([
    {
      type: "SearchKey",
      metadata: {
        field: "globalSearchConfig",
        collections: ["campaigns", "customer_notes", "customers", "orders", "products"],
      },
    },
  ]);
});

test("records each key of an operation that requests several", async () => {
  const answer = await ask(
    `{ a: searchConfig(type: "orders") { scopedApiKey } b: searchConfig(type: "customers") { expiresAt }
       c: searchConfig(type: "products") { scopedApiKey } }`,
  );
  const records = await recordsOf(answer);
  expect(records.map(({ metadata }) => metadata)).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ collections: ["orders"] }),
      expect.objectContaining({ collections: ["customers"] }),
    ]),
  );
  expect(records).toHaveLength(2);
});

test("records nothing for a key without access to customers and orders", async () => {
  const products = await ask(`{ searchConfig(type: "products") { scopedApiKey } }`);
  expect(await recordsOf(products)).toEqual([]);
  const reader = await search.service.login(["products.read", "campaigns.read"]);
  const global = await ask("{ globalSearchConfig { scopedApiKey } }", reader.token);
  expect(global.data.globalSearchConfig.scopedApiKey).not.toBe("");
  expect(await recordsOf(global)).toEqual([]);
});

test("records nothing when no key is requested", async () => {
  expect(
    await recordsOf(await ask(`{ searchConfig(type: "orders") { columns { name } } }`)),
  ).toEqual([]);
});

test("issues no key when the issue cannot be recorded", async () => {
  const { pool } = search.service.database;
  await pool.query(
    `create function refuse_key() returns trigger as $$ begin
       if new.entity_type = 'SearchKey' then raise exception 'not recorded'; end if; return new;
     end $$ language plpgsql;
     create trigger planted before insert on audit_log for each row execute function refuse_key()`,
  );
  const { data, errors } = await search.service.ask(
    `{ searchConfig(type: "orders") { scopedApiKey } }`,
    { token: search.staff.token },
  );
  expect(data).toBeNull();
  expect(errors?.[0]?.extensions.code).toBe("INTERNAL");
  await pool.query("drop trigger planted on audit_log; drop function refuse_key");
});
