/** A table and a function that keep every rule; each plant below breaks one. */
export const sound = `
  set local role office_owner;
  create table planted (
    id uuid primary key default uuidv7(),
    product_id uuid references products on delete cascade,
    note text,
    constraint planted_note_check check (note <> '')
  );
  create index planted_product_id_idx on planted (product_id);
  comment on table planted is '@read products.read
@create products.create
@update products.update
@delete products.update
@mutations create update delete
@audit Planted
A table of the test.';
  comment on column planted.note is 'A note.';
  comment on constraint planted_note_check on planted is 'must not be empty';
  select protect_table('planted');
  create function planted_things(note text) returns text as $$ select planted_things.note $$
    language sql stable security definer set search_path from current;
  comment on function planted_things is '@guard products.read
A function of the test.';
  grant execute on function planted_things to office_api;`;

const tags = "@read products.read\n@audit Planted\n";
const retag = (comment: string) => `comment on table planted is '${comment}'`;
const policy = (definition: string) => `create policy planted_bad on planted ${definition}`;

/** A change that breaks rules, and what they then say. */
export interface Plant {
  what: string;
  sql: string;
  violations: string[];
}

/** For each rule at least one violation. */
export const plants: Plant[] = [
  {
    what: "a table without row-level security",
    sql: "alter table planted disable row level security",
    violations: ["table planted: row-level security must be enabled and forced"],
  },
  {
    what: "a table whose owner row-level security does not bind",
    sql: "alter table planted no force row level security",
    violations: ["table planted: row-level security must be enabled and forced"],
  },
  {
    what: "a partition without row-level security",
    sql: "alter table audit_log_reads_default disable row level security",
    violations: ["table audit_log_reads_default: row-level security must be enabled and forced"],
  },
  {
    what: "a view that runs with its owner's rights",
    sql: "create view shown as select id from planted; comment on view shown is 'A view.'; comment on column shown.id is 'Which.'",
    violations: [
      "table shown: views and foreign tables need security_invoker and a decision; none is in use",
    ],
  },
  {
    what: "a materialized view",
    sql: "create materialized view kept as select id from planted; comment on materialized view kept is 'A view.'",
    violations: [
      "table kept: views and foreign tables need security_invoker and a decision; none is in use",
    ],
  },
  {
    what: "a table that is described by tags only",
    sql: retag(tags.trim()),
    violations: ["table planted: has no description; add `comment on table planted is '...'`"],
  },
  {
    what: "a table that does not say who reads it",
    sql: retag("@audit Planted\nA table."),
    violations: [
      "table planted: declares no permission to read it; add the tag `@read <permission>` (or `@internal` with no grants)",
    ],
  },
  {
    what: "a table that does not decide about audit",
    sql: retag("@read products.read\nA table."),
    violations: [
      "table planted: decides nothing about audit; add the tag `@audit <EntityType>` or `@audit off because <reason>`",
    ],
  },
  {
    what: "a table that switches audit off without a reason",
    sql: retag("@read products.read\n@audit off\nA table."),
    violations: [
      "table planted: decides nothing about audit; add the tag `@audit <EntityType>` or `@audit off because <reason>`",
    ],
  },
  ...["read", "create", "update", "delete"].map((verb) => ({
    what: `an unknown permission to ${verb}`,
    sql: retag(
      `${verb === "read" ? "" : "@read products.read\n"}@${verb} products.read products.eat\n@audit Planted\nA table.`,
    ),
    violations: [`table planted: the tag @${verb} names the unknown permission products.eat`],
  })),
  {
    what: "a table that names no permission at all",
    sql: retag("@read\n@audit Planted\nA table."),
    violations: ["table planted: the tag @read names the unknown permission "],
  },
  {
    what: "a verb offered to everyone",
    sql: retag(`${tags}@mutations create\nA table.`),
    violations: ["table planted: the tag @mutations offers create but @create names no permission"],
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
  ...["TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"].map((right) => ({
    what: `the right to ${right}`,
    sql: `grant ${right} on planted to office_api`,
    violations: [`table planted: office_api holds ${right}, which no request role may`],
  })),
  {
    what: "a right of the server's login",
    sql: `grant delete on planted to office_server; ${policy("for delete to office_server using (product_id is null)")}`,
    violations: ["table planted: office_server holds DELETE, which no request role may"],
  },
  {
    what: "a right of PUBLIC",
    sql: "grant select on planted to public",
    violations: ["table planted: PUBLIC holds SELECT"],
  },
  {
    what: "a partition with rights of its own",
    sql: `grant select on audit_log_reads_default to office_api;
      create policy direct on audit_log_reads_default for select to office_api using ((select has_permission('audit.read')))`,
    violations: ["partition audit_log_reads_default: can be reached directly by office_api"],
  },
  {
    what: "a policy for PUBLIC",
    sql: policy("for select using ((select has_permission('products.read')))"),
    violations: ["policy planted_bad on planted: is for PUBLIC"],
  },
  {
    what: "a policy that lets everyone insert",
    sql: policy("for insert to office_api with check (true)"),
    violations: ["policy planted_bad on planted: lets everyone write (`true`)"],
  },
  {
    what: "a policy that lets everyone update",
    sql: policy(
      "for update to office_api using (true) with check ((select has_permission('products.update')))",
    ),
    violations: ["policy planted_bad on planted: lets everyone write (`true`)"],
  },
  {
    what: "a policy that lets everyone delete",
    sql: policy("for delete to office_api using (true)"),
    violations: ["policy planted_bad on planted: lets everyone write (`true`)"],
  },
  {
    what: "a policy that lets everyone do everything",
    sql: policy("to office_worker using (true) with check (true)"),
    violations: ["policy planted_bad on planted: lets everyone write (`true`)"],
  },
  {
    what: "an update that checks only the old row",
    sql: policy("for update to office_api using ((select has_permission('products.update')))"),
    violations: ["policy planted_bad on planted: a writing policy needs a check of the new row"],
  },
  {
    what: "a permission asked for each row",
    sql: policy("for select to office_api using (has_permission('products.read'))"),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "a permission asked for each new row",
    sql: policy(
      "for insert to office_api with check (has_permission('products.create') and note is null)",
    ),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "a grant that no policy answers",
    sql: "drop policy planted_delete on planted",
    violations: ["table planted: office_api may DELETE but no policy says which rows"],
  },
  {
    what: "a grant on columns that no policy answers",
    sql: "drop policy planted_update on planted",
    violations: ["table planted: office_api may UPDATE but no policy says which rows"],
  },
  {
    what: "a table of another role",
    sql: "reset role; alter table planted owner to office_worker",
    violations: ["table planted: belongs to office_worker, not to office_owner"],
  },
  {
    what: "a foreign key without an index",
    sql: "drop index planted_product_id_idx",
    violations: ["foreign key planted_product_id_fkey on planted: its columns have no index"],
  },
  {
    what: "a definer function with the caller's search path",
    sql: "alter function planted_things reset search_path",
    violations: [
      "function planted_things(text): a security definer function must pin its search_path",
    ],
  },
  {
    what: "a function that PUBLIC may execute",
    sql: "grant execute on function planted_things to public",
    violations: ["function planted_things(text): may be executed by PUBLIC; revoke it"],
  },
  {
    what: "a function with the rights that PostgreSQL gives by itself",
    sql: `reset role; create function loose() returns integer language sql stable return 1;
      comment on function loose is 'A function.'`,
    violations: ["function loose(): may be executed by PUBLIC; revoke it"],
  },
  {
    what: "an open function that is described by tags only",
    sql: "comment on function planted_things is '@guard products.read'",
    violations: [
      "function planted_things(text): is open to the request role and has no description",
    ],
  },
  {
    what: "a guard that asks for an unknown permission",
    sql: "comment on function planted_things is '@guard products.read products.eat\nA function.'",
    violations: [
      "function planted_things(text): the tag @guard names the unknown permission products.eat",
    ],
  },
  {
    what: "a guard that says nothing",
    sql: "comment on function planted_things is '@guard\nA function.'",
    violations: ["function planted_things(text): the tag @guard names the unknown permission "],
  },
  {
    what: "a guarded function that no request can execute",
    sql: "revoke execute on function planted_things from office_api",
    violations: [
      "function planted_things(text): has a @guard but the request role may not execute it",
    ],
  },
  {
    what: "a check without a message for people",
    sql: "comment on constraint planted_note_check on planted is null",
    violations: [
      "constraint planted_note_check on planted: has no message for people; add `comment on constraint`",
    ],
  },
];
