import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { insertApiToken } from "../helpers/apiToken.ts";
import { type ExtraSqlDir, createExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { startOwnSqlService } from "../helpers/migration/ownSqlService.ts";

// Tables of a deployment: histories, and rows that policies hide from some callers.

const tables = `
create table notebooks (
  slug text primary key,
  user_id uuid not null references users on delete cascade,
  body text not null
);
create index on notebooks (user_id);
comment on table notebooks is '@read products.read
@create products.update
@owner user_id
@audit Notebook slug
Notes of one user.';
comment on column notebooks.slug is 'The name of the notebook.';
comment on column notebooks.body is 'The text.';

create table token_notes (
  id uuid primary key default uuidv7(),
  user_id uuid not null references users on delete cascade,
  api_token_id uuid references api_tokens on delete cascade,
  name text not null
);
create index on token_notes (user_id);
create index on token_notes (api_token_id);
comment on table token_notes is '@read products.read
@create products.update
@delete products.update
@mutations create delete
@owner user_id api_token_id
@audit TokenNote
Notes of one API token.';
comment on column token_notes.name is 'The note.';

create table stands (
  id uuid primary key default uuidv7(),
  code text not null unique,
  hall text not null
);
comment on table stands is '@read products.read
@audit Stand code
Stands at fairs.';
comment on column stands.code is 'The code of the stand.';
comment on column stands.hall is 'The hall.';

create table stand_wines (
  id uuid primary key default uuidv7(),
  stand_id uuid not null references stands on delete cascade,
  wine text not null
);
create index on stand_wines (stand_id);
comment on table stand_wines is '@read products.read
@create products.update
@audit StandWine stand_id
Wines of a stand, recorded as changes of it.';
comment on column stand_wines.wine is 'The wine.';

create table deals (
  id uuid primary key default uuidv7(),
  name text not null,
  is_hidden boolean not null default false
);
comment on table deals is '@read products.read
@create products.update
@update products.update
@delete products.update
@mutations create update delete
@audit Deal
Purchases that are negotiated.';
comment on column deals.name is 'The name of the deal.';
comment on column deals.is_hidden is 'Whether only those who read orders see it.';
`;
const policies = `
select ensure_policy('deals', 'deals_hidden', 'select', 'office_api',
  'not is_hidden or (select has_permission(''orders.read''))', restrictive => true);
`;

let own: ExtraSqlDir;
let service: Awaited<ReturnType<typeof startOwnSqlService>>;

beforeAll(async () => {
  own = await createExtraSqlDir();
  await own.migration("notes", tables);
  await own.logic("policies", policies);
  service = await startOwnSqlService(own.path);
});
afterAll(async () => {
  await service.stop();
  await own.remove();
});

const writer = ["products.read", "products.update"];
const sql = (text: string, values: unknown[] = []) => service.database.pool.query(text, values);
/** The code and the message of the only error. */
function refusal({ errors }: { errors?: { message: string; extensions?: { code?: string } }[] }) {
  expect(errors).toHaveLength(1);
  return { code: errors?.[0]?.extensions?.code, message: errors?.[0]?.message };
}
const ask = (token: string, query: string, variables: Record<string, unknown> = {}) =>
  service.ask(query, { token, variables });

describe("the history of a row with an owner", () => {
  const bodies = async (token: string, id: string) => {
    const { data } = await ask(
      token,
      `query ($id: String!) { recordHistory(entity: "notebooks", id: $id) { nodes { changes { field before after } } } }`,
      { id },
    );
    const nodes = data.recordHistory.nodes as {
      changes: { field: string; before: unknown; after: unknown }[];
    }[];
    return nodes.flatMap(({ changes }) =>
      changes.filter(({ field }) => field === "body").map(({ before, after }) => [before, after]),
    );
  };

  test("does not contain another user's row that had the same key", async () => {
    const [bo, emma, auditor] = await Promise.all([
      service.login(writer),
      service.login(writer),
      service.login([...writer, "audit.read"]),
    ]);
    const insert = "insert into notebooks (slug, user_id, body) values ('plan', $1, $2)";
    await sql(insert, [bo.userId, "the plan of Bo"]);
    await sql("delete from notebooks");
    await sql(insert, [emma.userId, "the plan of Emma"]);
    await sql("update notebooks set body = 'a better plan'");
    expect(await bodies(emma.token, "plan")).toEqual([
      ["the plan of Emma", "a better plan"],
      [null, "the plan of Emma"],
    ]);
    await sql("update notebooks set user_id = $1, body = 'handed over'", [bo.userId]);
    expect(await bodies(bo.token, "plan")).toEqual([]);
    await sql("update notebooks set body = 'mine now'");
    expect(await bodies(bo.token, "plan")).toEqual([["handed over", "mine now"]]);
    await sql("update notebooks set user_id = $1", [auditor.userId]);
    expect((await bodies(auditor.token, "plan")).length).toBeGreaterThanOrEqual(5);
  });
});

test("the history of a row is found by the unique column of @audit, and a shared one has none", async () => {
  const bo = await service.login(writer);
  const { rows } = await sql("insert into stands (code, hall) values ('A1', 'North') returning id");
  await sql("update stands set hall = 'South'");
  const { data } = await ask(
    bo.token,
    `query ($id: String!) {
       recordHistory(entity: "stands", id: $id) { nodes { operation } }
       console { entities { name hasHistory } }
     }`,
    { id: rows[0].id },
  );
  expect(data.recordHistory.nodes).toEqual([{ operation: "UPDATE" }, { operation: "CREATE" }]);
  expect(data.console.entities).toContainEqual({ name: "stands", hasHistory: true });
  expect(data.console.entities).toContainEqual({ name: "standWines", hasHistory: false });
});

describe("deletions", () => {
  const seen = async (token: string) => {
    const { data } = await ask(token, "{ deletions { label auditLogId } }");
    return data.deletions as { label: string; auditLogId: string }[];
  };
  const restore = (token: string, id: string | undefined) =>
    ask(token, "mutation ($id: ID!) { restore(auditLogId: $id) }", { id });

  test("of rows of one API token are shown to that token, and to no other of the same user", async () => {
    const bo = await service.login(writer);
    const [first, second] = await Promise.all([
      insertApiToken(service.database, bo.userId, writer),
      insertApiToken(service.database, bo.userId, writer),
    ]);
    const made = await ask(
      first.token,
      'mutation { createTokenNote(input: { name: "of the first" }) { id } }',
    );
    await ask(first.token, "mutation ($id: ID!) { deleteTokenNote(id: $id) }", {
      id: made.data.createTokenNote.id,
    });
    const [deletion] = await seen(first.token);
    expect(deletion).toMatchObject({ label: "of the first" });
    expect(await seen(second.token)).toEqual([]);
    expect(refusal(await restore(second.token, deletion?.auditLogId)).code).toBe("NOT_FOUND");
    expect((await seen(bo.token)).map(({ label }) => label)).toEqual(["of the first"]);
    expect((await restore(first.token, deletion?.auditLogId)).data.restore).toBe(1);
  });

  test("of rows that a restrictive policy may have hidden are shown to whoever deleted them", async () => {
    const [clara, bo] = await Promise.all([
      service.login([...writer, "orders.read"]),
      service.login(writer),
    ]);
    const made = await ask(
      clara.token,
      'mutation { createDeal(input: { name: "A merger", isHidden: true }) { id } }',
    );
    await ask(clara.token, "mutation ($id: ID!) { deleteDeal(id: $id) }", {
      id: made.data.createDeal.id,
    });
    const [deletion] = await seen(clara.token);
    expect(deletion).toMatchObject({ label: "A merger" });
    expect(await seen(bo.token)).toEqual([]);
    expect(refusal(await restore(bo.token, deletion?.auditLogId)).code).toBe("NOT_FOUND");
    expect((await restore(clara.token, deletion?.auditLogId)).data.restore).toBe(1);
  });
});

test("a row that its writer would not see is refused", async () => {
  const bo = await service.login(writer);
  const refused = {
    code: "FORBIDDEN",
    message: "A policy of deals does not allow you a row with these values",
  };
  const create = "mutation ($i: CreateDealInput!) { createDeal(input: $i) { id } }";
  expect(
    refusal(await ask(bo.token, create, { i: { name: "Mine", isHidden: true } })),
  ).toMatchObject(refused);
  const { data } = await ask(bo.token, create, { i: { name: "Mine" } });
  const update = "mutation ($id: ID!) { updateDeal(id: $id, input: { isHidden: true }) { id } }";
  expect(refusal(await ask(bo.token, update, { id: data.createDeal.id }))).toMatchObject(refused);
});
