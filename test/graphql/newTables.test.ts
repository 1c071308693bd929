import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

let database: TestDatabase;
let service: Service | undefined;

beforeEach(async () => {
  database = await createDatabase();
});
afterEach(async () => {
  await service?.stop();
  service = undefined;
  await database.drop();
});

/** A table that a migration could add; no TypeScript refers to it. */
const cellars = (order: string, more = "") => `
  set role office_owner;
  create type cellar_state as enum ('open', 'closed');
  create table cellars (
    id uuid primary key default uuidv7(),
    name text not null,
    parent_id uuid references cellars on delete set null,
    state cellar_state not null default 'open',
    opened_on date,
    bottles bigint,
    humidity double precision,
    note text not null default 'n',
    grapes text[],
    marks text[] not null default '{}',
    scores integer[],
    small_scores smallint[],
    weights numeric(8, 2)[],
    states cellar_state[],
    tasted_on date[],
    created_at timestamptz not null default now()
  );
  create index cellars_parent_id_idx on cellars (parent_id);
  create index cellars_opened_on_idx on cellars (opened_on desc, name, id desc);
  create index cellars_search_idx on cellars using gin (search_text(name) extensions.gin_trgm_ops, search_texts(grapes), marks, scores, states);
  comment on table cellars is E'@read products.read\\n@audit off because it is made by a test\\n@connection\\n@defaultOrder ${order}\\n${more && `${more}\\n`}Where bottles lie.';
  comment on column cellars.name is E'@search word\\nIts name.';
  comment on column cellars.parent_id is 'The one it is part of.';
  comment on column cellars.state is 'What goes on there.';
  comment on column cellars.opened_on is 'Its first day.';
  comment on column cellars.bottles is 'How many it holds.';
  comment on column cellars.humidity is 'Of the air.';
  comment on column cellars.note is E'@internal\\nFor the service.';
  comment on column cellars.grapes is E'@search\\nWhat lies there.';
  comment on column cellars.marks is E'@search exact\\nAs they are written.';
  comment on column cellars.scores is E'@search\\nWhat it was given.';
  comment on column cellars.small_scores is 'What it was given, in few bits.';
  comment on column cellars.weights is 'Of its barrels.';
  comment on column cellars.states is E'@search\\nWhat went on there before.';
  comment on column cellars.tasted_on is 'When its wines were tasted.';
  comment on constraint cellars_parent_id_fkey on cellars is
    E'@fieldName parent\\n@foreignConnectionFieldName parts\\n@behavior +singularRelation:resource:single +manyRelation:resource:connection';
  create function cellars_is_deep(cellar cellars) returns boolean as $$
    select cellar.name like '%deep%'
  $$ language sql stable;
  comment on function cellars_is_deep is E'@computed\\nWhether it is deep.';
  revoke execute on function cellars_is_deep from public;
  grant execute on function cellars_is_deep to office_api;
  select protect_table('cellars');
  create table alarms (
    id uuid primary key default uuidv7(),
    cellar_id uuid not null references cellars on delete cascade,
    place text not null,
    code text not null
  );
  create index alarms_cellar_id_idx on alarms (cellar_id);
  comment on table alarms is E'@read products.read\\n@audit off because it is made by a test\\nWhat rings in a cellar.';
  comment on column alarms.cellar_id is 'Where it rings.';
  comment on column alarms.place is 'Where it hangs.';
  comment on column alarms.code is E'@secret\\nNobody reads it.';
  comment on constraint alarms_cellar_id_fkey on alarms is
    E'@foreignConnectionFieldName alarms\\n@behavior +manyRelation:resource:connection';
  select protect_table('alarms');
  insert into cellars (name, opened_on, bottles, humidity) values ('Old and deep', '2020-05-01', 9007199254740993, 0.5);
  insert into cellars (name, opened_on, state, parent_id)
    select 'New', '2021-01-01', 'closed', id from cellars;
  insert into cellars (name) values ('Unopened');
  update cellars set grapes = '{Nebbiolo,Gewürztraminer,"Pinot Noir"}', marks = '{AOC,a_c}', scores = '{90,-3}', small_scores = '{7}',
    weights = '{12.50}', states = '{open,closed}', tasted_on = '{2026-01-31,2026-03-01}' where name = 'New';
  update cellars set grapes = '{}', scores = '{95,null}', states = '{open}' where name = 'Unopened';
  insert into alarms (cellar_id, place, code) select id, 'door', 'x' from cellars where name = 'New';
  reset role;`;

describe("a table that a migration adds", () => {
  test("can be searched, ordered and paged without code", async () => {
    await database.pool.query(cellars("opened_on desc, name"));
    const started = await startService({ database });
    service = started;
    const ask: Service["ask"] = (document, options) => started.ask(document, options);
    const { token } = await started.login(["products.read"]);
    const names = async (args: string) => {
      const { data, errors } = await ask(`{ cellars${args} { nodes { name } } }`, { token });
      expect(errors).toBeUndefined();
      return data.cellars.nodes.map((node: { name: string }) => node.name);
    };
    expect(await names("")).toEqual(["New", "Old and deep", "Unopened"]);
    expect(await names("(orderBy: [OPENED_ON_ASC])")).toEqual(["Old and deep", "New", "Unopened"]);
    for (const [query, found] of [
      ["déep", ["Old and deep"]],
      ["isDeep:true", ["Old and deep"]],
      ["state:closed", ["New"]],
      ["openedOn:2020", ["Old and deep"]],
      ["openedOn:>2020-05-01", ["New"]],
      ["openedOn:<=2020-05-01", ["Old and deep"]],
      ["-openedOn:*", ["Unopened"]],
      ["bottles:9007199254740993", ["Old and deep"]],
      ["humidity:<0.6", ["Old and deep"]],
      ["parent.name:old*", ["New"]],
      ["parts.state:closed", ["Old and deep"]],
      ["alarms.place:door", ["New"]],
      ["grapes:nebbiolo", ["New"]],
      ["grapes:GEWURZTRAMINER", ["New"]],
      ["grapes:Pinot", []],
      ['grapes:IN("Merlot", "pinot noir")', ["New"]],
      ['grapes:("pinot noir" nebbiolo)', ["New"]],
      ["grapes:(nebbiolo merlot)", []],
      ["-grapes:nebbiolo", ["Old and deep", "Unopened"]],
      ["grapes:*", ["New"]],
      ["-marks:*", ["Old and deep", "Unopened"]],
      ["marks:AOC", ["New"]],
      ["marks:aoc", []],
      ["scores:95", ["Unopened"]],
      ["scores:IN(-3, 95)", ["New", "Unopened"]],
      ["grapes:neb*", ["New"]],
      ["grapes:noir*", []],
      ["marks:a*", ["New"]],
      ["marks:ao*", []],
      ["scores:>90", ["Unopened"]],
      ["scores:[-5 TO 0]", ["New"]],
      ["smallScores:7", ["New"]],
      ["smallScores:40000", []],
      ["weights:12.5", ["New"]],
      ["states:closed", ["New"]],
      ["states:IN(open, closed)", ["New", "Unopened"]],
      ["tastedOn:2026-01", ["New"]],
      ["tastedOn:[2026-02-01 TO 2026-02-28]", []],
      ["parts.grapes:nebbiolo", ["Old and deep"]],
    ] as const)
      expect({ query, found: await names(`(query: ${JSON.stringify(query)})`) }).toEqual({
        query,
        found,
      });

    for (const hidden of ["alarms.code:x", "note:n", "parent.note:n"]) {
      const { errors } = await ask(`{ cellars(query: "${hidden}") { totalCount } }`, { token });
      expect(errors?.[0]?.message).toContain("is not a field that can be searched");
    }
    for (const [query, message] of [
      ["scores:nine", "query: `nine` is not a whole number at position 8"],
      [
        "states:closd",
        "query: `closd` is not one of open, closed (did you mean `closed`?) at position 8",
      ],
      [
        "scores:9*",
        "query: `scores` (whole number list) has no beginnings: `*` does not go with it at position 1",
      ],
      [
        "grapes:>Merlot",
        "query: `grapes` (text list) cannot be greater or less than a value at position 1",
      ],
      [
        "grape:Merlot",
        "query: `grape` is not a field that can be searched (did you mean `grapes`?) at position 1",
      ],
    ] as const) {
      const { errors } = await ask(`{ cellars(query: "${query}") { totalCount } }`, { token });
      expect(errors?.[0]).toMatchObject({ message, extensions: { code: "BAD_USER_INPUT" } });
    }
    const parts = await ask(
      `{ cellars(query: "old") { nodes { parts(includeTotalCount: true, first: 1) { totalCount nodes { name } } } } }`,
      { token },
    );
    expect(parts.data.cellars.nodes).toEqual([
      { parts: { totalCount: 1, nodes: [{ name: "New" }] } },
    ]);
  });

  test("prevents the start with a default order by an unknown column", async () => {
    await database.pool.query(cellars("size, name"));
    await expect(startService({ database })).rejects.toThrow(
      "The tag @defaultOrder of the table cellars names the column size, which the table does not have.",
    );
  });

  test("prevents the start with a filter by an unknown column", async () => {
    await database.pool.query(cellars("opened_on desc, name", "@filter asked size:$value"));
    await expect(startService({ database })).rejects.toThrow(
      "The tag @filter asked of the table cellars: query: `size` is not a field",
    );
  });

  test("prevents the start with a filter named like another argument", async () => {
    await database.pool.query(cellars("opened_on desc, name", "@filter first name:$value"));
    await expect(startService({ database })).rejects.toThrow(
      "The tag @filter first of the table cellars: every list has this argument already",
    );
  });
});
