import type { ViolationCase } from "./validTable.ts";

const tags = "@read products.read\n@audit Planted\n";
/** Replaces the tags and applies them. */
const retag = (comment: string) =>
  `comment on table planted is '${comment}'; select protect_table('planted')`;

/** Violations of the rules for tables, their tags, columns, keys and triggers. */
export const tableViolations: ViolationCase[] = [
  {
    what: "a table without row-level security",
    sql: "alter table planted disable row level security",
    violations: ["table planted: row-level security must be enabled and forced"],
  },
  {
    what: "a table without forced row-level security",
    sql: "alter table planted no force row level security",
    violations: ["table planted: row-level security must be enabled and forced"],
  },
  {
    what: "a partition without row-level security",
    sql: "alter table audit_log_reads_default disable row level security",
    violations: ["table audit_log_reads_default: row-level security must be enabled and forced"],
  },
  {
    what: "a column whose name the API cannot spell",
    sql: `alter table planted rename column note to "prisPrFlaskeFørMoms"`,
    violations: [
      'column planted."prisPrFlaskeFørMoms": a name has a-z, 0-9 and single underscores between them, a letter first; name it `pris_pr_flaske_for_moms` and show it as `@title Pris pr flaske før moms`',
    ],
  },
  {
    what: "a column with two underscores in a row",
    sql: "alter table planted rename column note to extra__note",
    violations: [
      "column planted.extra__note: a name has a-z, 0-9 and single underscores between them, a letter first; name it `extra_note` and show it as `@title Extra note`",
    ],
  },
  {
    what: "a table whose name the API cannot spell",
    sql: `alter table planted rename to "Planted Vines"`,
    violations: [
      'table "Planted Vines": a name has a-z, 0-9 and single underscores between them, a letter first; name it `planted_vines`',
    ],
  },
  {
    what: "a table whose comment has only tags",
    sql: retag(tags.trim()),
    violations: ["table planted: has no description; add `comment on table planted is '...'`"],
  },
  {
    what: "a table without a read permission",
    sql: retag("@audit Planted\nA table."),
    violations: [
      "table planted: declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)",
    ],
  },
  {
    what: "a table without an audit declaration",
    sql: retag("@read products.read\nA table."),
    violations: [
      "table planted: does not declare auditing; add the tag `@audit <EntityType>` or `@audit off because <reason>`",
    ],
  },
  ...["read", "create", "update", "delete", "history"].map((verb) => ({
    what: `an unknown permission to ${verb}`,
    sql: retag(
      `${verb === "read" ? "" : "@read products.read\n"}@${verb} products.eat\n@audit Planted\nA table.`,
    ),
    violations: [
      `table planted: the tag @${verb} names the unknown permission products.eat; did you mean products.read? Or insert it into \`permissions\` in a migration`,
    ],
  })),
  {
    what: "an unknown permission in several tags",
    sql: retag("@read cellars.read\n@create cellars.read\n@audit Planted\nA table."),
    violations: [
      "table planted: the tags @read, @create name the unknown permission cellars.read; insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a permission for a history that is not recorded",
    sql: retag(
      "@read products.read\n@history products.update\n@audit off because nobody asks\nA table.",
    ),
    violations: [
      "table planted: the tag @history guards a history that the table does not have; add the tag `@audit <EntityType>`, or remove it",
    ],
  },
  {
    what: "a summary of unknown columns",
    sql: retag("@read products.read\n@summary note color\n@audit Planted\nA table."),
    violations: ["table planted: the tag @summary names the unknown column color"],
  },
  {
    what: "a mutation without a permission",
    sql: `comment on table planted is '${tags}@update products.update\n@delete products.update\n@mutations create update delete\nA table.'`,
    violations: ["table planted: the tag @mutations offers create but @create names no permission"],
  },
  ...["create", "update"].map((verb) => ({
    what: `a mutation to ${verb} rows of which it may write no column`,
    sql: `alter table planted drop column product_id, drop column note;
      ${retag(`${tags}@${verb} products.${verb}\n@mutations ${verb}\nA table.`)}`,
    violations: [
      `table planted: the tag @mutations offers ${verb} and may write none of its columns; add a column that ${verb} may write, or remove \`${verb}\` from the tag`,
    ],
  })),
  {
    what: "a table in which every login can create rows for any owner",
    sql: retag("@read products.read\n@create login\n@audit Planted\nA table."),
    violations: [
      "table planted: has `@create login` and no @owner; add it, or name a permission in place of `login`",
    ],
  },
  ...Object.entries({
    "@read login\n@delete login\n@mutations delete": "no @owner; add it",
    "@read products.read\n@delete login\n@mutations delete\n@owner user_id":
      "not `@read login`; add it",
    "@read login\n@delete login\n@mutations delete\n@owner user_id\n@shared":
      "@shared; remove one of them",
  }).map(([wrong, problem]) => ({
    what: `a table in which every login can delete rows, with ${wrong.replaceAll("\n", " ")}`,
    sql: `alter table planted add column user_id uuid references users;
      create index planted_user_id_idx on planted (user_id);
      ${retag(`${wrong}\n@audit Planted\nA table.`)}`,
    violations: [
      `table planted: has \`@delete login\` and ${problem}, or name a permission in place of \`login\``,
    ],
  })),
  ...["@owner user_id", "@delete products.update\n@mutations delete"].map((other) => ({
    what: `shared rows of a table that has only ${other}`,
    sql: `alter table planted add column user_id uuid references users;
      create index planted_user_id_idx on planted (user_id);
      ${retag(`${tags}@shared\n${other}\nA table.`)}`,
    violations: [
      "table planted: has the tag @shared, which takes @owner and `@mutations update` or `@mutations delete`; remove it",
    ],
  })),
  {
    what: "rows that are never changed and have a mutation to change them",
    sql: retag(`${tags}@update products.update\n@mutations update\n@appendOnly\nA table.`),
    violations: [
      "table planted: has the tags @appendOnly and `@mutations update`; its rows are only created",
    ],
  },
  {
    what: "a mutation to create rows whose id nothing fills",
    sql: `alter table planted alter column id drop default;
      ${retag(`${tags}@create products.create\n@mutations create\nA table.`)}`,
    violations: [
      "table planted: has `@mutations create`, and its column id has no default; add `default uuidv7()`",
    ],
  },
  {
    what: "a table that inherits from another",
    sql: `create table planted_kids (primary key (id)) inherits (planted);
      create index planted_kids_product_id_idx on planted_kids (product_id);
      comment on table planted_kids is '@read products.read\n@audit PlantedKid\nA table.';
      comment on column planted_kids.note is 'A note.';
      comment on constraint planted_note_check on planted_kids is 'must not be empty';
      select protect_table('planted_kids')`,
    violations: [
      "table planted_kids: inherits from planted; write a table of its own, with a reference if the rows belong together",
    ],
  },
  {
    what: "a column without a description",
    sql: "comment on column planted.note is null",
    violations: ["column planted.note: has no description; add `comment on column`"],
  },
  {
    what: "a readable column that looks like a secret",
    sql: "alter table planted rename note to access_token",
    violations: [
      "column planted.access_token: looks like a secret and can be read; add the tag @secret or another name",
    ],
  },
  {
    what: "a table owned by another role",
    sql: "reset role; alter table planted owner to office_worker",
    violations: ["table planted: belongs to office_worker, not to office_owner"],
  },
  {
    what: "a foreign key without an index",
    sql: "drop index planted_product_id_idx",
    violations: ["foreign key planted_product_id_fkey on planted: its columns have no index"],
  },
  {
    what: "a foreign key with only a partial index",
    sql: "drop index planted_product_id_idx; create index on planted (product_id) where note = 'x'",
    violations: ["foreign key planted_product_id_fkey on planted: its columns have no index"],
  },
  {
    what: "a foreign key that is second in its index",
    sql: "drop index planted_product_id_idx; create index on planted (note, product_id)",
    violations: ["foreign key planted_product_id_fkey on planted: its columns have no index"],
  },
  ...["insert", "update", "delete"].map((event) => ({
    what: `a disabled audit trigger for ${event}`,
    sql: `alter table planted disable trigger _800_audit_${event}`,
    violations: [`table planted: declares @audit but its ${event} trigger is missing or off`],
  })),
  {
    what: "a missing audit trigger",
    sql: "drop trigger _800_audit_delete on planted",
    violations: ["table planted: declares @audit but its delete trigger is missing or off"],
  },
  ...["_900_append_only", "_900_no_truncate"].map((trigger) => ({
    what: `an append-only table without ${trigger}`,
    sql: `alter table audit_log disable trigger ${trigger}`,
    violations: [
      `table audit_log: declares @appendOnly but its trigger ${trigger} is missing or off`,
    ],
  })),
  {
    what: "a check of a domain without a message for API callers",
    sql: "create domain points as integer check (value > 0)",
    violations: [
      "constraint points_check on domain points: has no message for API callers; add `comment on constraint points_check on domain points`",
    ],
  },
  {
    what: "a check without a message for API callers",
    sql: "comment on constraint planted_note_check on planted is null",
    violations: [
      "constraint planted_note_check on planted: has no message for API callers; add `comment on constraint`",
    ],
  },
];
