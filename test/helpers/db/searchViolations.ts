import type { ViolationCase } from "./validTable.ts";

const tagged = (column: string, tag: string) =>
  `comment on column planted.${column} is '${tag}\nA column of the test.'`;
const added = (column: string, type: string, tag: string) =>
  `alter table planted add column ${column} ${type}; ${tagged(column, tag)}`;
const searchWords = (columns: string) =>
  `${added("search_words", `text generated always as (words_text(${columns})) stored`, "@internal")};
   create index planted_search_idx on planted using gin (search_words extensions.gin_trgm_ops)`;
const connection = (order: string) => `comment on table planted is '@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit Planted
@connection
@defaultOrder ${order}
A table of the test.'`;

const noWordIndex =
  "column planted.note: has the tag @search word and no index for it; add `create index on planted using gin (search_text(note) extensions.gin_trgm_ops)`";
const wrongSearchWords = (columns: string) =>
  `column planted.search_words: must be \`generated always as (words_text(${columns})) stored\`, of all columns with the tag @search word, and have the tag @internal; write \`alter table planted alter column search_words set expression as (words_text(${columns}))\``;
const noPrefixIndex =
  "column planted.note: has the tag @search exact and no index for it; add `create index on planted (note text_pattern_ops)`";
const noLabelIndex =
  "column planted.labels: has the tag @search and no index for it; add `create index on planted using gin (search_texts(labels))`";
const noScoreIndex =
  "column planted.scores: has the tag @search and no index for it; add `create index on planted using gin (scores)`";
const noOrderIndex = (columns: string) =>
  `table planted: no index has its @defaultOrder; add \`create index on planted (${columns})\``;

/** Violations of the rules that searches and connection orders need an index. */
export const searchViolations: ViolationCase[] = [
  {
    what: "a word-search column without an index",
    sql: tagged("note", "@search word"),
    violations: [noWordIndex],
  },
  {
    what: "a word-search column with a B-tree index only",
    sql: `${tagged("note", "@search word")}; create index on planted (search_text(note) text_pattern_ops)`,
    violations: [noWordIndex],
  },
  {
    what: "a word-search column with a partial index",
    sql: `${tagged("note", "@search word")};
      create index on planted using gin (search_text(note) extensions.gin_trgm_ops) where product_id is not null`,
    violations: [noWordIndex],
  },
  {
    what: "a search_words column that lacks a word-search column",
    sql: `${tagged("note", "@search word")}; ${added("other", "text", "@search word")}; ${searchWords("note")};
      create index on planted using gin (search_text(other) extensions.gin_trgm_ops)`,
    violations: [wrongSearchWords("note, other")],
  },
  {
    what: "a search_words column that includes an untagged column",
    sql: `${tagged("note", "@search word")}; ${added("other", "text", "")}; ${searchWords("note, other")}`,
    violations: [wrongSearchWords("note")],
  },
  {
    what: "a search_words column without an index",
    sql: `${tagged("note", "@search word")}; ${searchWords("note")}; drop index planted_search_idx`,
    violations: [
      "column planted.note: has the tag @search word and no index for it; add `create index on planted using gin (search_words extensions.gin_trgm_ops)`",
    ],
  },
  {
    what: "an exact and word-search column without an index",
    sql: tagged("note", "@search exact word"),
    violations: [noPrefixIndex, noWordIndex],
  },
  {
    what: "an exact-search column whose index does not support prefixes",
    sql: `${tagged("note", "@search exact")}; create index on planted (note)`,
    violations: [noPrefixIndex],
  },
  {
    what: "an exact-search column that is second in its index",
    sql: `${added("number", 'text collate "C"', "@search exact")}; create index on planted (note, number)`,
    violations: [
      "column planted.number: has the tag @search exact and no index for it; add `create index on planted (number)`",
    ],
  },
  {
    what: "a text list without an index",
    sql: added("labels", "text[]", "@search"),
    violations: [noLabelIndex],
  },
  {
    what: "a text list with an index on the unnormalized texts",
    sql: `${added("labels", "text[]", "@search")}; create index on planted using gin (labels)`,
    violations: [noLabelIndex],
  },
  {
    what: "an exact-search text list without an index",
    sql: added("labels", "text[]", "@search exact"),
    violations: [
      "column planted.labels: has the tag @search and no index for it; add `create index on planted using gin (labels)`",
    ],
  },
  {
    what: "a number list without an index",
    sql: added("scores", "integer[]", "@search"),
    violations: [noScoreIndex],
  },
  {
    what: "a connection whose order has no index",
    sql: connection("note"),
    violations: [noOrderIndex("note, id")],
  },
  {
    what: "a connection whose index lacks the unique key",
    sql: `${connection("note desc")}; create index on planted (note)`,
    violations: [noOrderIndex("note desc, id desc")],
  },
  {
    what: "a connection whose index has other sort directions",
    sql: `${connection("product_id desc, note")}; create index on planted (product_id, note, id)`,
    violations: [noOrderIndex("product_id desc, note, id desc")],
  },
  {
    what: "a connection with a partial index",
    sql: `${connection("note")}; create index on planted (note, id) where note is not null`,
    violations: [noOrderIndex("note, id")],
  },
];

/** Definitions without a violation. */
export const validSearches: { what: string; sql: string }[] = [
  {
    what: "a word search with the trigram column second in its index",
    sql: `${tagged("note", "@search word")};
      create index on planted using gin (product_id, search_text(note) extensions.gin_trgm_ops)`,
  },
  {
    what: "an exact search with an index without nulls",
    sql: `${added("number", 'text collate "C"', "@search exact")}; create index on planted (number) where number is not null`,
  },
  {
    what: "an exact search with a pattern index",
    sql: `${tagged("note", "@search exact")}; create index on planted (note text_pattern_ops)`,
  },
  {
    what: "list searches with their indexes",
    sql: `${added("labels", "text[]", "@search")}; create index on planted using gin (search_texts(labels));
      ${added("marks", "text[]", "@search exact")}; create index on planted using gin (marks);
      ${added("scores", "integer[]", "@search")}; create index on planted using gin (scores)`,
  },
  {
    what: "an order with an index in the opposite direction",
    sql: `${connection("product_id desc, note")}; create index on planted (product_id, note desc, id)`,
  },
  {
    what: "an order with a unique index",
    sql: `${connection("note")}; create unique index on planted (note);
      comment on index planted_note_idx is 'A planted thing of this note exists already.'`,
  },
  {
    what: "an order that is unique by one of its columns",
    sql: `${connection("product_id, note")}; alter table planted alter note set not null, add unique (note);
      create index on planted (product_id desc, note desc)`,
  },
];
