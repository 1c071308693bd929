import type { ViolationCase } from "./validTable.ts";

const tags = "@read products.read\\n@audit off because a test has it\\n@primaryKey id\\n";

/** Creates a view on the valid table. */
const view = (what: { query?: string; tags?: string; name?: string }) => {
  const { query = "select id, note from planted", name = "shown" } = what;
  return `create view ${name} with (security_invoker = true) as ${query};
    comment on view ${name} is E'${what.tags ?? tags}A view.'; select protect_views();
    do $$ declare c text; begin
      for c in select attname from pg_attribute where attrelid = '${name}'::regclass and attnum > 0 loop
        execute format('comment on column ${name}.%I is %L', c, 'A column.');
      end loop;
    end; $$;`;
};
const invoker = "with (security_invoker = true) as ...`";
const key = (spec: string) => view({ tags: `${tags}@foreignKey ${spec}\\n` });
const shows = "|@forwardBehavior +singularRelation:resource:single";

/** Views without a violation. */
export const validViews = [
  { what: "a view with security_invoker", sql: view({}) },
  {
    what: "a view on a view",
    sql: view({}) + view({ name: "again", query: "select id from shown" }),
  },
  {
    what: "a view with an additional permission and only a forward relation",
    sql: key(`(id) references planted (id)${shows}`).replace(
      "@read products.read",
      "@read products.read users.read",
    ),
  },
  {
    what: "a view of a table for every login and another one",
    sql: view({
      tags: "@read products.read\\n@login\\n@auditReads\\n@primaryKey id\\n",
      query: "select p.id, v.name as note from planted p join saved_views v on v.name = p.note",
    }),
  },
  {
    what: "a view of a table for every login",
    sql: view({
      tags: "@read login\\n@auditReads\\n@primaryKey id\\n",
      query: "select id, name as note from saved_views",
    }),
  },
  {
    what: "an internal view",
    sql: view({ tags: "@internal\\n", query: "select id, token_hash from sessions" }),
  },
  {
    what: "a search on a column with an index in the base table",
    sql: `${view({ query: "select id, name from (select p.* from products p) as p" })}
      comment on column shown.name is E'@search word\\nIts name.'`,
  },
];

/** Violations of the rules for views. Each message names the fix. */
export const viewViolations: ViolationCase[] = [
  {
    what: "a view without security_invoker",
    sql: view({}).replace(" with (security_invoker = true)", ""),
    violations: [
      `view shown: reads with the privileges of its owner and bypasses row-level security; write \`create view shown ${invoker}`,
    ],
  },
  {
    what: "a materialized view",
    sql: "create materialized view kept as select id from planted; comment on materialized view kept is 'A view.'",
    violations: [
      `materialized view kept: bypasses row-level security; write \`create view kept ${invoker}, or a table that a job fills`,
    ],
  },
  {
    what: "a foreign table",
    sql: `reset role; create extension postgres_fdw with schema extensions; create server elsewhere foreign data wrapper postgres_fdw;
      create foreign table far (id uuid) server elsewhere; alter table far owner to office_owner; comment on foreign table far is 'Far.'`,
    violations: [
      "foreign table far: policies do not apply to rows of another server; write `create table far (...)` and fill it by a job",
    ],
  },
  {
    what: "a view without a comment",
    sql: `create view shown with (security_invoker = true) as select id from planted`,
    violations: [
      "view shown: declares no permission to read it; add the tag `@read products.read` (or `@internal`)",
      "view shown: does not declare auditing; add the tag `@auditReads`, which records its reads, or `@audit off because <reason>`",
      "view shown: has no description; add `comment on view shown is '...'`",
      "view shown: its rows have no defined order; add `@primaryKey <column>` or `@defaultOrder <column>`",
    ],
  },
  ...["create", "update", "delete"].map((verb) => ({
    what: `a view with a @${verb} tag`,
    sql: view({ tags: `${tags}@${verb} products.update\\n` }),
    violations: [
      `comment of view shown: the tag @${verb} is not for a view; a view is only read; put it on the table whose rows change`,
    ],
  })),
  {
    what: "a view with a search collection",
    sql: view({ tags: `${tags}@searchCollection shown\\n` }),
    violations: [
      "comment of view shown: the tag @searchCollection is not for a view; the search engine follows changes of tables only; put it on the table",
    ],
  },
  {
    what: "a view column with an @export tag",
    sql: `${view({})} comment on column shown.note is E'@export Note\\nA note.'`,
    violations: [
      "comment of column of a view shown.note: the tag @export is not for a column of a view; exports read products; put it on the column of the table",
    ],
  },
  {
    what: "a view of an internal table",
    sql: view({ query: "select id, token_hash as note from sessions" }),
    violations: [
      "view shown: reads sessions, which no caller may read; leave it out, or give it the tag `@read` (with `@root off` where it shows here alone)",
    ],
  },
  {
    what: "a view of the system catalog",
    sql: view({ query: "select p.id, c.relname as note from planted p, pg_class c" }),
    violations: [
      "view shown: reads pg_class, which no caller may read; read tables of this schema only",
    ],
  },
  {
    what: "a view of a secret column",
    sql: `comment on column planted.note is E'@secret\\nA note.'; select protect_table('planted'); ${view({})}`,
    violations: ["view shown: reads planted.note, which no caller may read; leave the column out"],
  },
  {
    what: "a view of whole rows with a secret column",
    sql: `comment on column planted.note is E'@secret\\nA note.'; select protect_table('planted');
      ${view({ query: "select uuidv7() as id, p::text as note from planted p" })}`,
    violations: [
      "view shown: reads whole rows of planted, of which no caller may read note; name the columns",
    ],
  },
  {
    what: "a view that omits a base table's read permission",
    sql: view({
      query:
        "select p.id, w.name as note from planted p join users u on true join wine_types w on true",
      tags: `${tags}@auditReads\\n`,
    }),
    violations: [
      "view shown: reads users, whose permissions its tag `@read` does not name; write `@read products.read users.read`",
    ],
  },
  {
    what: "a view of audited tables without @auditReads",
    sql: view({
      query: "select id, name as note from customers",
      tags: tags.replace("products", "customers"),
    }),
    violations: [
      "view shown: shows rows of customers, whose reads are recorded; add the tag `@auditReads`",
    ],
  },
  {
    what: "a view that calls a function without an execute grant",
    sql: `create function planted_secret() returns text as $$ select 'x' $$ language sql stable; revoke execute on function planted_secret from public;
      ${view({ query: "select id, planted_secret() as note from planted" })}`,
    violations: [
      "view shown: calls planted_secret(), which the request role may not execute; write `grant execute on function planted_secret to office_api` in a file of `logic`",
    ],
  },
  {
    what: "a connection on a view without a primary key",
    sql: view({ tags: `${tags.replace("@primaryKey id", "@defaultOrder note")}@connection\\n` }),
    violations: [
      "view shown: has the tag @connection, whose pages need a key; add `@primaryKey <column>`",
    ],
  },
  {
    what: "a primary key on an unknown column",
    sql: view({ tags: tags.replace("@primaryKey id", "@primaryKey number") }),
    violations: [
      "comment of view shown: the tag @primaryKey names the column number, which does not exist",
    ],
  },
  {
    what: "a foreign key without a visible relation",
    sql: key("(id) references planted (id)"),
    violations: [
      "view shown: its tag `@foreignKey` shows nothing; add `|@forwardBehavior +singularRelation:resource:single` behind it",
    ],
  },
  {
    what: "a malformed foreign key",
    sql: key(`id references planted`),
    violations: [
      'comment of view shown: the tag @foreignKey is "id references planted"; write `@foreignKey (<column>) references <table> (<column>)|@forwardBehavior +singularRelation:resource:single`',
    ],
  },
  {
    what: "a foreign key with a misspelt tag",
    sql: key(`(id) references planted (id)${shows}|@feildName planted`),
    violations: [
      "comment of view shown, @foreignKey (id) references planted (id): unknown tag @feildName; did you mean @fieldName?",
    ],
  },
  {
    what: "a view's foreign key with a @searchIndex tag",
    sql: key(`(id) references planted (id)${shows}|@searchIndex note`),
    violations: [
      "comment of view shown, @foreignKey (id) references planted (id): the tag @searchIndex is not for a view; the search engine follows changes of tables only; put it on the column of the table",
    ],
  },
  {
    what: "a foreign key from an unknown column",
    sql: key(`(number) references planted (id)${shows}`),
    violations: ["view shown: its tag `@foreignKey` names the column number, which does not exist"],
  },
  {
    what: "a foreign key to an unknown table",
    sql: key(`(id) references plants (id)${shows}`),
    violations: [
      "view shown: its tag `@foreignKey` names plants, which is not a table or view of this schema",
    ],
  },
  {
    what: "a foreign key to columns that are not unique",
    sql: key(`(note) references planted (note)${shows}`),
    violations: [
      "view shown: its tag `@foreignKey` leads to planted (note), which no primary key or unique constraint has; name the columns of one",
    ],
  },
  {
    what: "a foreign key between different types",
    sql: key(`(note) references planted (id)${shows}`),
    violations: [
      "view shown: its tag `@foreignKey` compares note (text) with planted.id (uuid); cast it in the view",
    ],
  },
  {
    what: "a view with an additional permission and a backward relation",
    sql: key(`(id) references planted (id)|@behavior +singularRelation:resource:single`).replace(
      "@read products.read",
      "@read products.read users.read",
    ),
    violations: [
      "view shown: shows behind other rows, where `users.read` is not asked for; write `@forwardBehavior` in its `@foreignKey`, or take it out of the view's tags",
    ],
  },
  {
    what: "a json column",
    sql: view({ query: `select id, '{}'::json as note from planted` }),
    violations: ["column shown.note: is of type json, which has no order; write `::jsonb`"],
  },
  {
    what: "a composite column",
    sql: view({ query: `select p.id, w as note from planted p, wine_types w` }),
    violations: [
      "column shown.note: is of type wine_types, which is a whole row; write its columns",
    ],
  },
  {
    what: "an id that is not a uuid",
    sql: view({ query: `select 1 as id, note from planted` }),
    violations: [
      "column shown.id: is integer; a column `id` is a uuid: cast it, or give it another name",
    ],
  },
  {
    what: "a word search without an index in the base table",
    sql: `${view({ query: "select id, upper(name) as note from products" })} comment on column shown.note is E'@search word\\nIts name.'`,
    violations: [
      "column shown.note: has the tag @search word and no index for it; show the column of a table as it is, which has one, or take the tag out",
    ],
  },
];
