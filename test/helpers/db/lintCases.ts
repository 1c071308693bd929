import type { RuleName } from "../../../src/migration/lint/rules.ts";

interface Case {
  sql: string;
  /** Earlier migrations. */
  earlier?: string[];
}

interface BadCase extends Case {
  rule: RuleName;
  /** The line of the only problem; 1 by default. */
  line?: number;
}

const table = (columns: string, rest = "") =>
  `create table t (id uuid primary key default uuidv7()${columns});${rest} comment on table t is 'T.';`;

/** Cases with exactly one problem each. `wines` is an existing table. */
export const bad: BadCase[] = [
  { rule: "transaction", sql: "create index concurrently i on wines (name);" },
  { rule: "transaction", sql: "drop index concurrently i;" },
  { rule: "transaction", sql: "begin;" },
  { rule: "transaction", sql: "vacuum wines;" },
  { rule: "transaction", sql: "alter system set work_mem = '1MB';" },
  { rule: "transaction", sql: "alter table wines detach partition wines_old concurrently;" },
  { rule: "transaction", sql: "select 1;\n-- Down Migration\nselect 2;", line: 2 },
  { rule: "create-index", sql: "create index wines_name_idx on wines (name);" },
  { rule: "create-index", sql: "alter table wines add constraint u unique (name);" },
  { rule: "create-index", sql: "alter table wines add column code text unique;" },
  { rule: "create-index", sql: "alter table wines add primary key (id);" },
  {
    rule: "create-index",
    sql: "alter table wines add constraint e exclude using gist (span with &&);",
  },
  { rule: "volatile-default", sql: "alter table wines add column key uuid default uuidv7();" },
  {
    rule: "volatile-default",
    sql: "alter table wines add column seen timestamptz not null default clock_timestamp();",
  },
  { rule: "volatile-default", sql: "alter table wines add column code text default 'a' || f(1);" },
  {
    rule: "table-rewrite",
    sql: "alter table wines add column gross numeric generated always as (net * 1.25) stored;",
  },
  {
    rule: "table-rewrite",
    sql: "alter table wines add column n bigint generated always as identity;",
  },
  { rule: "table-rewrite", sql: "alter table wines set unlogged;" },
  { rule: "table-rewrite", sql: "reindex table wines;" },
  { rule: "table-rewrite", sql: "cluster wines;" },
  { rule: "add-not-null-column", sql: "alter table wines add column colour text not null;" },
  {
    rule: "add-not-null-column",
    sql: "alter table wines add column colour text not null default null;",
  },
  { rule: "alter-type", sql: "alter table wines alter column price type numeric(12, 2);" },
  { rule: "set-not-null", sql: "alter table wines alter column price set not null;" },
  { rule: "set-not-null", sql: "alter table wines add constraint n not null price;" },
  {
    rule: "set-not-null",
    sql: "alter table wines alter column price set not null;",
    earlier: ["alter table wines add constraint c check (price is not null) not valid;"],
  },
  {
    rule: "set-not-null",
    sql: "alter table wines drop constraint c;\nalter table wines alter column price set not null;",
    line: 2,
    earlier: [
      "alter table wines add constraint c check (price is not null) not valid;",
      "alter table wines validate constraint c;",
    ],
  },
  { rule: "constraint-not-valid", sql: "alter table wines add constraint c check (price > 0);" },
  { rule: "constraint-not-valid", sql: "alter table wines add column p int check (p > 0);" },
  {
    rule: "constraint-not-valid",
    sql: "alter table wines add constraint f foreign key (type_id) references types on delete cascade;",
    earlier: ["create index wines_type_id_idx on wines (type_id);"],
  },
  {
    rule: "constraint-not-valid",
    sql: "alter domain colour add constraint c check (value <> '');",
  },
  {
    rule: "validate-later",
    sql: "alter table wines add constraint c check (price > 0) not valid;\nalter table wines validate constraint c;",
    line: 2,
  },
  { rule: "rename", sql: "alter table wines rename to bottles;" },
  { rule: "rename", sql: "alter table wines rename column price to cost;" },
  { rule: "rename", sql: "alter type medium rename value 'a' to 'b';" },
  { rule: "drop-table", sql: "drop table wines;" },
  { rule: "drop-column", sql: "alter table wines drop column price;" },
  { rule: "lock-table", sql: "lock table wines in share mode;" },
  { rule: "truncate", sql: "truncate wines;" },
  { rule: "whole-table-write", sql: "update wines set price = 1;" },
  { rule: "whole-table-write", sql: "delete from wines where true;" },
  {
    rule: "whole-table-write",
    sql: "with gone as (delete from wines returning id) select count(*) from gone;",
  },
  { rule: "type", sql: table(", name varchar(20)") },
  { rule: "type", sql: table(", name varchar") },
  { rule: "type", sql: table(", name char(2)") },
  { rule: "type", sql: table(", at timestamp") },
  { rule: "type", sql: table(", at timestamp(3) without time zone[]") },
  { rule: "type", sql: table(", n bigserial") },
  { rule: "type", sql: "create domain code as varchar(3);" },
  { rule: "schema-name", sql: "insert into backoffice.wines default values;" },
  { rule: "schema-name", sql: "select public.f(1);" },
  { rule: "schema-name", sql: "create type backoffice.medium as enum ('a');" },
  { rule: "schema-name", sql: table(", m backoffice.medium") },
  { rule: "schema-name", sql: "comment on column backoffice.wines.price is 'x';" },
  { rule: "schema-name", sql: "drop function backoffice.f(int);" },
  { rule: "schema-name", sql: "drop view backoffice.v;" },
  { rule: "schema-name", sql: "select 'backoffice.wines'::regclass;" },
  { rule: "schema-name", sql: "select wines.w.id from wines w;" },
  { rule: "schema-name", sql: "create schema other;" },
  { rule: "schema-name", sql: "grant usage on schema backoffice to office_api;" },
  { rule: "schema-name", sql: "alter table wines set schema other;" },
  { rule: "search-path", sql: "set search_path to backoffice;" },
  { rule: "transaction", sql: "set role office_api;" },
  { rule: "transaction", sql: "set local session authorization default;" },
  { rule: "search-path", sql: "set local search_path = backoffice;" },
  { rule: "search-path", sql: "reset all;" },
  { rule: "search-path", sql: "select set_config('search_path', 'backoffice', true);" },
  { rule: "extension-or-role", sql: "create extension pg_trgm;" },
  { rule: "extension-or-role", sql: "drop extension pg_trgm;" },
  { rule: "extension-or-role", sql: "create role office_extra;" },
  { rule: "extension-or-role", sql: "grant office_api to office_server;" },
  {
    rule: "function-in-migration",
    sql: "create function f() returns int language sql as 'select 1';",
  },
  { rule: "do-block", sql: "do $$ begin execute 'drop table wines'; end $$;" },
  { rule: "setting", sql: "set local statement_timeout = '5s';" },
  { rule: "setting", sql: "set lock_timeout = 0;" },
  { rule: "setting", sql: "reset statement_timeout;" },
  { rule: "trigger", sql: "alter table wines disable trigger user;" },
  { rule: "trigger", sql: "alter table wines disable trigger _100_timestamps;" },
  { rule: "trigger", sql: "alter table wines enable always trigger wines_changed;" },
  { rule: "row-level-security", sql: "alter table wines disable row level security;" },
  { rule: "row-level-security", sql: "alter table wines no force row level security;" },
  {
    rule: "on-delete",
    sql: table(", type_id uuid references types", " create index i on t (type_id);"),
  },
  {
    rule: "on-delete",
    sql: table(
      ", a uuid references types, b uuid references types on delete cascade",
      " create index i on t (a); create index j on t (b);",
    ),
  },
  { rule: "foreign-key-index", sql: table(", type_id uuid references types on delete restrict") },
  {
    rule: "foreign-key-index",
    sql: table(
      ", type_id uuid references types on delete restrict, at date",
      " create index i on t (at, type_id);",
    ),
  },
  {
    rule: "foreign-key-index",
    sql: table(
      ", type_id uuid references types on delete restrict, live boolean",
      " create index i on t (type_id) where live;",
    ),
  },
  {
    rule: "foreign-key-index",
    sql: table(
      ", type_id uuid references types on delete restrict, span tstzrange, exclude using gist (span with &&, type_id with =)",
    ),
  },
  {
    rule: "foreign-key-index",
    sql: table(
      ", type_id uuid references types on delete restrict, span tstzrange, exclude using gist (type_id with <>, span with &&)",
    ),
  },
  {
    rule: "foreign-key-index",
    sql: table(
      ", type_id uuid references types on delete restrict, span tstzrange, live boolean, exclude using gist (type_id with =, span with &&) where (live)",
    ),
  },
  {
    rule: "foreign-key-index",
    sql: "alter table wines add column type_id uuid references types on delete cascade;",
  },
  { rule: "table-comment", sql: "create table t (id uuid primary key);" },
  { rule: "table-comment", sql: "create table t as select 1 as n;" },
  {
    rule: "table-comment",
    sql: "create table t (id uuid primary key); comment on table t is '';",
  },
];

/** Statements without a problem. */
export const good: Case[] = [
  {
    sql: table(
      ", name text not null check (length(name) <= 200), type_id uuid references types on delete restrict, at timestamptz default now()",
      " create index t_type_id_idx on t (type_id); create index t_name_idx on t using gin (name gin_trgm_ops);",
    ),
  },
  {
    sql: table(
      ", type_id uuid references types on delete restrict, span tstzrange, exclude using gist (type_id with =, span with &&)",
    ),
  },
  {
    sql: table(
      ", type_id uuid references types on delete restrict, span tstzrange, exclude using gist (type_id with operator(pg_catalog.=), tstzrange(lower(span), null) with &&) where (type_id is not null)",
    ),
  },
  { sql: table(", type_id uuid unique references types on delete no action not null") },
  {
    sql: table(
      ", a uuid, b uuid, foreign key (a, b) references types (a, b) on delete cascade",
      " create index i on t (a, b);",
    ),
  },
  {
    sql: table(
      ", type_id uuid references types on delete cascade",
      " create index i on t (type_id) where type_id is not null;",
    ),
  },
  {
    sql: table(
      ", n int",
      " alter table t alter column n set not null; alter table t add constraint c check (n > 0); alter table t alter column n type bigint; alter table t rename column n to m; update t set m = 1; truncate t;",
    ),
  },
  { sql: "create temporary table scratch (id uuid); drop table scratch;" },
  { sql: "create table wines_2026 partition of wines for values from (1) to (2);" },
  { sql: "alter table wines add column note text;" },
  { sql: "alter table wines add column colour text not null default 'red';" },
  { sql: "alter table wines add column seen timestamptz not null default now();" },
  { sql: "alter table wines add column tags text[] not null default '{}'::text[];" },
  { sql: "alter table wines add column gross numeric generated always as (net * 1.25) virtual;" },
  { sql: "alter table wines alter column price drop not null, alter column price set default 1;" },
  { sql: "alter table wines add constraint c check (price > 0) not valid;" },
  { sql: "alter table wines add constraint u unique using index wines_code_idx;" },
  {
    sql: "alter table wines add constraint f foreign key (type_id) references types on delete cascade not valid;",
    earlier: ["create index wines_type_id_idx on wines (type_id);"],
  },
  {
    sql: "alter table wines validate constraint c;",
    earlier: ["alter table wines add constraint c check (price > 0) not valid;"],
  },
  {
    sql: "alter table wines validate constraint c; alter table wines alter column price set not null; alter table wines drop constraint c;",
    earlier: ["alter table wines add constraint c check (price is not null) not valid;"],
  },
  { sql: "alter domain colour add constraint c check (value <> '') not valid;" },
  { sql: "create domain code as text; alter domain code add constraint c check (value <> '');" },
  { sql: "alter type medium add value 'tv';" },
  { sql: "alter table wines rename constraint a to b;" },
  { sql: "update wines set price = 1 where price is null;" },
  { sql: "delete from wines where id in (select id from gone);" },
  { sql: "select w.id, pg_catalog.now(), 'wines'::regclass from wines w;" },
  { sql: "select extensions.unaccent('x'), graphile_worker.add_job('x');" },
  { sql: "comment on column wines.price is 'In the currency of the list.';" },
  { sql: "comment on constraint c on wines is 'x'; drop trigger x on wines;" },
  { sql: "comment on constraint c on domain colour is 'x';" },
  { sql: "alter table wines enable row level security, force row level security;" },
  {
    sql: "-- lint: allow function-in-migration because an index calls it\ncreate function f() returns int language sql set search_path from current as 'select 1';",
  },
];
