import { expect } from "@jest/globals";
import type { ViolationCase } from "./validTable.ts";

/** Replaces the tags and applies them. */
const retag = (comment: string) =>
  `comment on table planted is E'${comment}'; select protect_table('planted')`;
const onTable = (tags: string) => retag(`@read products.read\\n@audit Planted\\n${tags}A table.`);
const onType = (tags: string) =>
  `create type planted_state as enum ('A'); comment on type planted_state is E'${tags}A state.'`;
const onColumn = (tags: string) => `comment on column planted.note is E'${tags}A note.'`;
const ofTable = (rest: string) => [`comment of table planted: ${rest}`];
const ofColumn = (rest: string) => [`comment of column planted.note: ${rest}`];

/** Violations of the rules for tags. */
export const tagViolations: ViolationCase[] = [
  {
    what: "a misspelt table tag",
    sql: onTable("@conection\\n"),
    violations: ofTable("unknown tag @conection; did you mean @connection?"),
  },
  {
    what: "a misspelt column tag",
    sql: onColumn("@serch word\\n"),
    violations: ofColumn("unknown tag @serch; did you mean @search?"),
  },
  {
    what: "a misspelt foreign-key tag",
    sql: "comment on constraint planted_product_id_fkey on planted is '@fieldname product'",
    violations: [
      "comment of foreign key planted_product_id_fkey on planted: unknown tag @fieldname; did you mean @fieldName?",
    ],
  },
  {
    what: "a reference that shows the only row without a unique constraint",
    sql: `create unique index planted_product_id_key on planted (product_id);
      comment on constraint planted_product_id_fkey on planted is '@backwardBehavior +singularRelation:resource:single'`,
    violations: [
      "comment of foreign key planted_product_id_fkey on planted: the tag @backwardBehavior shows nothing, because no unique constraint allows one row only; add `alter table planted add unique (product_id)`, or write `@backwardBehavior +manyRelation:resource:list`",
    ],
  },
  {
    what: "two references with one name of the referring rows",
    sql: `alter table planted add other_product_id uuid references products on delete cascade;
      create index on planted (other_product_id);
      comment on constraint planted_product_id_fkey on planted is '@foreignFieldName things';
      comment on constraint planted_other_product_id_fkey on planted is '@foreignFieldName things'`,
    violations: [
      "comments of foreign keys planted_other_product_id_fkey on planted and planted_product_id_fkey on planted: have the same @foreignFieldName things of products; give each its own",
    ],
  },
  {
    what: "a reference that shows a list of the only row",
    sql: `alter table planted add unique (product_id);
      comment on constraint planted_product_id_fkey on planted is '@backwardBehavior +manyRelation:resource:list'`,
    violations: [
      "comment of foreign key planted_product_id_fkey on planted: the tag @backwardBehavior shows nothing, because a unique constraint allows one row only; write `@backwardBehavior +singularRelation:resource:single`",
    ],
  },
  {
    what: "a misspelt function tag",
    sql: "comment on function planted_things is E'@guard products.read\\n@nulable\\nA function of the test.'",
    violations: [
      "comment of function planted_things(text): unknown tag @nulable; did you mean @nullable?",
    ],
  },
  {
    what: "a misspelt enum tag",
    sql: onType("@nme x\\n"),
    violations: ["comment of type planted_state: unknown tag @nme; did you mean @name?"],
  },
  {
    what: "a tag on a check constraint",
    sql: "comment on constraint planted_note_check on planted is E'@message x\\nmust not be empty'",
    violations: [
      "comment of constraint planted_note_check on planted: unknown tag @message; a comment like this has no tags",
    ],
  },
  {
    what: "a tag on an index",
    sql: "comment on index planted_product_id_idx is E'@internal\\nAn index.'",
    violations: [
      "comment of index planted_product_id_idx: unknown tag @internal; @internal is for a column or a column of a view or a table or a view",
    ],
  },
  {
    what: "a column tag on a table",
    sql: onTable("@search word\\n"),
    violations: ofTable("unknown tag @search; @search is for a column or a column of a view"),
  },
  {
    what: "an unknown tag without a similar one",
    sql: onType("@zzzzzzzz\\n"),
    violations: ["comment of type planted_state: unknown tag @zzzzzzzz; a type can have @name"],
  },
  {
    what: "a very long tag name",
    sql: `${onTable(`@${"x".repeat(5_000)}\\n`)}; ${onType(`@${"name".repeat(500)}\\n`)}`,
    violations: [
      expect.stringMatching(
        /^comment of table planted: unknown tag @x{40}…; a table can have @appendOnly, /,
      ),
      `comment of type planted_state: unknown tag @${"name".repeat(10)}…; a type can have @name`,
    ],
  },
  {
    what: "misspelt console tags",
    sql: `${onTable("@grup Catalogue 30\\n")}; ${onColumn("@widgt long\\n")}`,
    violations: [
      ...ofColumn("unknown tag @widgt; did you mean @widget?"),
      ...ofTable("unknown tag @grup; did you mean @group?"),
    ],
  },
  {
    what: "an unknown widget and an invalid list position",
    sql: onColumn("@widget colour\\n@list first\\n"),
    violations: [
      'comment of column planted.note: the tag @list is "first"; write `@list <place>` or `@list off`',
      'comment of column planted.note: the tag @widget is "colour"; did you mean `@widget color`?',
    ],
  },
  {
    what: "a widget that is similar to none",
    sql: onColumn("@widget slider\\n"),
    violations: ofColumn(
      'the tag @widget is "slider"; write one of color, url, email, image, long, markdown, code, money, percent, row, file, list',
    ),
  },
  {
    what: "values of a tag separated by commas",
    sql: `${onTable("@create products.create\\n@update products.update\\n@mutations create, update\\n")}; ${onColumn("@search word,exact\\n")}`,
    violations: [
      'comment of column planted.note: the tag @search is "word,exact"; separate the values by blanks: `@search word exact`',
      'comment of table planted: the tag @mutations is "create, update"; separate the values by blanks: `@mutations create update`',
    ],
  },
  {
    what: "a misspelt argument",
    sql: "comment on function planted_things is E'@guard products.read\\n@argument notes The note.\\nA function of the test.'",
    violations: [
      "comment of function planted_things(text): the tag @argument names notes, which is no parameter of the function; did you mean note?",
    ],
  },
  {
    what: "an argument that is similar to no parameter",
    sql: "comment on function planted_things is E'@guard products.read\\n@argument colour The colour.\\nA function of the test.'",
    violations: [
      "comment of function planted_things(text): the tag @argument names colour, which is no parameter of the function; its parameters are note",
    ],
  },
  {
    what: "an unknown permission for scoped tokens",
    sql: "comment on constraint planted_product_id_fkey on planted is '@forwardBehavior +singularRelation:resource:single\n@forwardScopedRead products.raed'",
    violations: [
      "comment of foreign key planted_product_id_fkey on planted: the tag @forwardScopedRead names the unknown permission products.raed; did you mean products.read? Or insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a label with an unknown and a hidden column",
    sql: `${onColumn("@internal\\n")}; ${onTable("@label note nmae\\n")}`,
    violations: ofTable("the tag @label names the column nmae, which does not exist").concat(
      ofTable("the tag @label names the column note, which the API hides"),
    ),
  },
  {
    what: "a misspelt label",
    sql: onTable("@label notte\\n"),
    violations: ofTable(
      "the tag @label names the column notte, which does not exist; did you mean note?",
    ),
  },
  {
    what: "icons that the console does not have",
    sql: onTable("@icon botle\\n"),
    violations: ofTable('the tag @icon is "botle"; did you mean `@icon bottle`?'),
  },
  {
    what: "a @personal tag without a reference",
    sql: onColumn("@personal\\n"),
    violations: ofColumn(
      "the tag @personal names no reference; write `@personal <column>` with the column that references users or customers",
    ),
  },
  {
    what: "a @personal reference to neither users nor customers",
    sql: onColumn("@personal product_id\\n"),
    violations: ofColumn(
      "the tag @personal names product_id, which references neither users nor customers",
    ),
  },
  {
    what: "a @personal column that is neither text nor nullable",
    sql: `alter table planted add column author_id uuid references users on delete set null,
        add column born_on date not null default '2000-01-01';
      create index planted_author_id_idx on planted (author_id);
      comment on column planted.author_id is 'Its author.';
      comment on column planted.born_on is E'@personal author_id\\nA date.';
      select protect_table('planted')`,
    violations: [
      "comment of column planted.born_on: the tag @personal is for a text or a column that can be empty; this one is required and date",
    ],
  },
  {
    what: "a @personal enumeration with a value that it does not have",
    sql: `create type planted_kind as enum ('SICK', 'OTHER');
      alter table planted add column author_id uuid references users on delete set null,
        add column kind planted_kind not null default 'SICK';
      create index planted_author_id_idx on planted (author_id);
      comment on type planted_kind is 'A kind.';
      comment on column planted.author_id is 'Its author.';
      comment on column planted.kind is E'@personal author_id NONE\nA kind.';
      select protect_table('planted')`,
    violations: [
      "comment of column planted.kind: the tag @personal names the value NONE, and the values are SICK, OTHER",
    ],
  },
  {
    what: "a required @personal enumeration without a value, and a date with one",
    sql: `create type planted_kind as enum ('SICK', 'OTHER');
      alter table planted add column author_id uuid references users on delete set null,
        add column kind planted_kind not null default 'SICK', add column born_on date;
      create index planted_author_id_idx on planted (author_id);
      comment on type planted_kind is 'A kind.';
      comment on column planted.author_id is 'Its author.';
      comment on column planted.kind is E'@personal author_id\nA kind.';
      comment on column planted.born_on is E'@personal author_id Unknown\nA date.';
      select protect_table('planted')`,
    violations: [
      "comment of column planted.born_on: the tag @personal names the value Unknown, which only a text or an enumeration takes",
      "comment of column planted.kind: the tag @personal is for a text or a column that can be empty; this one is required and planted_kind: write `@personal <column> <value>` with one of SICK, OTHER",
    ],
  },
  {
    what: "a @tone on a column that is not an enum",
    sql: onColumn("@tone OPEN ok\\n"),
    violations: ofColumn("the tag @tone names OPEN, and the column is no enumeration"),
  },
  {
    what: "a @tone for an unknown enum value",
    sql: `create type planted_state as enum ('OPEN', 'CLOSED'); comment on type planted_state is 'A state.';
      alter table planted add column state planted_state; comment on column planted.state is E'@tone OPEN ok\\n@tone CLOSD bad\\nA state.'`,
    violations: [
      "comment of column planted.state: the tag @tone names CLOSD, and the values are OPEN, CLOSED",
    ],
  },
  {
    what: "a tag of PostGraphile 4",
    sql: onColumn("@omit\\n"),
    violations: ofColumn(
      "the tag @omit is not for a column; write `@internal`, or leave the grant of a function out",
    ),
  },
  {
    what: "a tag without its value",
    sql: retag("@read\\n@audit Planted\\nA table."),
    violations: ofTable("the tag @read has no value; write `@read <permission>` or `@read login`"),
  },
  {
    what: "a value on a tag that takes none",
    sql: onTable("@auditReads always\\n"),
    violations: ofTable(
      'the tag @auditReads takes no value, and has "always"; write `@auditReads`',
    ),
  },
  {
    what: "an invalid tag value",
    sql: onTable("@root on\\n"),
    violations: ofTable('the tag @root is "on"; write `@root off`'),
  },
  {
    what: "a table with two read permissions",
    sql: retag("@read products.read reviewers.read\\n@audit Planted\\nA table."),
    violations: ofTable(
      "the tag @read names several permissions, and a table takes one; write `@read products.read`, and show its rows to holders of another by `ensure_policy` in a file of `logic`",
    ),
  },
  ...["create", "update", "delete"].map((verb) => ({
    what: `a table with two ${verb} permissions`,
    sql: onTable(`@${verb} products.update products.create\\n`),
    violations: ofTable(
      `the tag @${verb} names several permissions, and a table takes one; write \`@${verb} products.update\``,
    ),
  })),
  {
    what: "an unknown search mode",
    sql: onColumn("@search words\\n"),
    violations: ofColumn('the tag @search is "words"; write `@search [word|exact]`'),
  },
  {
    what: "an audit opt-out without a reason",
    sql: retag("@read products.read\\n@audit off\\nA table."),
    violations: ofTable(
      'the tag @audit is "off"; write `@audit <EntityType>` or `@audit off because <reason>`',
    ),
  },
  {
    what: "an invalid column mutation",
    sql: onColumn("@mutations delete\\n"),
    violations: ofColumn(
      'the tag @mutations is "delete"; write `@mutations create`, `@mutations update` or `@mutations off`',
    ),
  },
  {
    what: "an unknown PostGraphile behavior",
    sql: "comment on constraint planted_product_id_fkey on planted is '@behavior +singularRelation:resource:singel'",
    violations: [
      'comment of foreign key planted_product_id_fkey on planted: the tag @behavior is "+singularRelation:resource:singel"; write `@behavior +singularRelation:resource:single +manyRelation:resource:list`',
    ],
  },
  {
    what: "a repeated tag",
    sql: onTable("@read products.create\\n"),
    violations: ofTable("the tag @read is used 2 times; write it once"),
  },
  {
    what: "a tag after the description",
    sql: retag("@read products.read\\n@audit Planted\\nA table.\\n@connection"),
    violations: ofTable(
      'the line "@connection" is no tag; write tags as lines `@name value` before all other text',
    ),
  },
  {
    what: "a tag with a leading space",
    sql: onColumn(" @internal\\n"),
    violations: ofColumn(
      'the line " @internal" is no tag; write tags as lines `@name value` before all other text',
    ),
  },
  {
    what: "a tag with a colon",
    sql: onTable("@defaultOrder: note\\n"),
    violations: ofTable(
      'the line "@defaultOrder: note" is no tag; write tags as lines `@name value` before all other text',
    ),
  },
  {
    what: "Windows line endings",
    sql: onTable("@connection\\r\\n"),
    violations: ofTable(
      'the line "@connection" ends in a carriage return; save the file with line feeds alone',
    ),
  },
  {
    what: "an unknown owner column",
    sql: onTable("@owner owner_id\\n"),
    violations: ofTable("the tag @owner names the column owner_id, which does not exist"),
  },
  {
    what: "an owner that is no user",
    sql: onTable("@owner product_id\\n"),
    violations: ofTable("the tag @owner names product_id, which references products and not users"),
  },
  {
    what: "an owner that is a text",
    sql: `${onTable("@owner note\\n")}; select protect_table('planted')`,
    violations: ofTable("the tag @owner names note, which references nothing and not users"),
  },
  ...(
    [
      [
        "uuid default '0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a'",
        "",
        "which has a default; a row belongs to its caller, so drop the default",
      ],
      [
        "uuid generated always as (product_id) stored",
        "",
        "a generated column; a row belongs to its caller, so write a plain column",
      ],
      [
        "uuid",
        "@secret\\n",
        "which has the tag @secret; callers see whose rows they have, so remove one of them",
      ],
      [
        "uuid",
        "@auditName ownerId\\n",
        "whose values the audit log must have under its own name; remove the tag @auditName and the `except` of @audit",
      ],
    ] as const
  ).map(([type, tag, problem]) => ({
    what: `an owner column ${type} ${tag}`,
    sql: `alter table planted add column user_id ${type} references users on delete cascade;
      create index planted_user_id_idx on planted (user_id);
      comment on column planted.user_id is E'${tag}The owner.';
      ${retag("@read products.read\\n@audit Planted\\n@owner user_id\\nA table.")}`,
    violations: ofTable(`the tag @owner names user_id, ${problem}`),
  })),
  {
    what: "an owner column of a domain, which the audit log leaves out",
    sql: `create domain planted_person as uuid;
      alter table planted add column user_id planted_person references users on delete cascade, add column token_id uuid references api_tokens on delete cascade;
      create index planted_user_id_idx on planted (user_id);
      create index planted_token_id_idx on planted (token_id);
      ${retag("@read products.read\\n@audit Planted except token_id\\n@owner user_id token_id\\nA table.")}`,
    violations: ofTable(
      "the tag @owner names token_id, whose values the audit log must have under its own name; remove the tag @auditName and the `except` of @audit",
    ).concat(
      ofTable("the tag @owner names user_id, which is planted_person; it needs the type uuid"),
    ),
  },
  {
    what: "an audit type that another table has",
    sql: retag("@read products.read\\n@audit Reviewer\\nA table."),
    violations: [
      "tables planted and reviewers: have the same type of the tag @audit, Reviewer; give each its own",
    ],
  },
  {
    what: "a unit of a text",
    sql: onColumn("@unit kg\\n"),
    violations: ofColumn("the tag @unit is for numbers, and the column is text"),
  },
  {
    what: "an amount that is a text",
    sql: onColumn("@widget money\\n"),
    violations: ofColumn("the tag @widget money is for numbers, and the column is text"),
  },
  {
    what: "unknown audit columns",
    sql: retag("@read products.read\\n@audit Planted number except words\\nA table."),
    violations: [
      "comment of table planted: the tag @audit names the column number, which does not exist",
      "comment of table planted: the tag @audit names the column words, which does not exist",
    ],
  },
];
