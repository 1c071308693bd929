import type { ViolationCase } from "./validTable.ts";

const collection = (tags: string) => `comment on table planted is '${tags}
@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit Planted
A table of the test.'`;
const note = (words: string) =>
  `comment on column planted.note is '@searchIndex ${words}\nA note.'`;
const sound = `${collection("@searchCollection planted")}; ${note("searchable")}`;

/** Violations of the search-tag rules: invalid collections, and fields that expose too much. */
export const engineViolations: ViolationCase[] = [
  {
    what: "a duplicate collection name without a field and with an unknown sort and condition",
    sql: collection("@searchCollection products\n@searchSort note\n@searchOnly note"),
    violations: [
      "table planted: another table has the tag @searchCollection products as well",
      "table planted: has the tag @searchCollection and no field; add the tag @searchIndex to a column",
      'table planted: the tag @searchOnly is "note"; it names a column of type boolean',
      'table planted: the tag @searchSort is "note"; it names one column that has `sort` in its @searchIndex, and may end in `desc`',
    ],
  },
  {
    what: "a field without a collection and with unknown words",
    sql: note("serchable dataType hexcolor"),
    violations: [
      "column planted.note: has the tag @searchIndex, but what it belongs to has no @searchCollection",
      'column planted.note: the dataType is "hexcolor"; it can be hexColor, email, url, phone, money or percent',
      'column planted.note: the tag @searchIndex has the word "serchable"; it can have searchable, filter, facet, sort, dataType and title',
    ],
  },
  {
    what: "a restrictive policy on rows that the search engine shows",
    sql: `${sound};
      create policy planted_fewer on planted as restrictive for select to office_api using (note is not null)`,
    violations: [
      "table planted: has the tag @searchCollection and the restrictive policy planted_fewer, which the search engine does not know; remove one of them, or write `@searchOnly` with a boolean column",
    ],
  },
  {
    what: "fields of unsupported types and an unreadable field",
    sql: `${sound};
      alter table planted add column shape point, add column size integer, add column parts text[], add column hush text;
      comment on column planted.shape is '@searchIndex filter\nA shape.';
      comment on column planted.size is '@searchIndex searchable\nA size.';
      comment on column planted.parts is '@searchIndex sort\nParts.';
      comment on column planted.hush is '@internal\n@searchIndex searchable\nA hidden text.'`,
    violations: [
      "column planted.hush: has the tag @searchIndex, and nobody may read it",
      "column planted.parts: a list has no order; take `sort` out of @searchIndex",
      "column planted.shape: the search engine cannot hold a point",
      "column planted.size: words can be searched in text only; take `searchable` out of @searchIndex",
    ],
  },
  {
    what: "fields that show rows of other owners, of logins and of restrictive policies",
    sql: `${sound};
      create table planted_diaries (
        id uuid primary key default uuidv7(), title text not null, planted_id uuid references planted on delete cascade,
        user_id uuid references users on delete cascade
      );
      create index planted_diaries_planted_id_idx on planted_diaries (planted_id);
      create index planted_diaries_user_id_idx on planted_diaries (user_id);
      comment on table planted_diaries is '@owner user_id
@login
@read products.read
@create products.create
@mutations create
@audit PlantedDiary
A diary.';
      comment on column planted_diaries.title is 'Its title.';
      select protect_table('planted_diaries');
      create policy planted_diaries_few on planted_diaries as restrictive for select to office_api using (title <> '');
      create function planted_titles(planted planted) returns text as $$ select 'none' $$ language sql stable;
      comment on function planted_titles is '@searchIndex searchable
@searchFrom planted_diaries.planted_id
Their titles.';
      alter table planted add column diary_id uuid references planted_diaries on delete cascade;
      create index planted_diary_id_idx on planted (diary_id);
      comment on constraint planted_diary_id_fkey on planted is '@searchIndex title searchable';`,
    violations: [
      "foreign key planted_diary_id_fkey on planted, title: shows rows of planted_diaries to those who may search, and these may use a scoped API token (the tag @login)",
      "foreign key planted_diary_id_fkey on planted, title: shows rows of planted_diaries to those who may search, and these see also those of other owners (the tag @owner)",
      "foreign key planted_diary_id_fkey on planted, title: shows rows of planted_diaries to those who may search, and these see also those that the restrictive policy planted_diaries_few hides",
      "function planted_titles(planted): shows rows of planted_diaries to those who may search, and these may use a scoped API token (the tag @login)",
      "function planted_titles(planted): shows rows of planted_diaries to those who may search, and these see also those of other owners (the tag @owner)",
      "function planted_titles(planted): shows rows of planted_diaries to those who may search, and these see also those that the restrictive policy planted_diaries_few hides",
    ],
  },
  {
    what: "fields that show rows without the permission to read them",
    sql: `${sound};
      alter table planted add column user_id uuid references users on delete cascade;
      create index planted_user_id_idx on planted (user_id);
      comment on constraint planted_user_id_fkey on planted is '@searchIndex email searchable, shoe_size filter';
      create function planted_owners(planted planted) returns text as $$ select 'none' $$ language sql stable;
      comment on function planted_owners is '@searchIndex searchable
@searchFrom users.id
Its owners.';`,
    violations: [
      "foreign key planted_user_id_fkey on planted, email: shows rows of users to those who may search, and these need not hold users.read",
      "foreign key planted_user_id_fkey on planted, shoe_size: has the tag @searchIndex, and there is no such column",
      "function planted_owners(planted): shows rows of users to those who may search, and these need not hold users.read",
      "function planted_owners(planted): the tag @searchFrom names users.id; write <table>.<column>, a column that refers to its row",
    ],
  },
];
