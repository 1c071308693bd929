import { policy } from "./soundTable.ts";
import type { Plant } from "./soundTable.ts";

const tags = "@read products.read\n@audit Planted\n";
const retag = (comment: string) => `comment on table planted is '${comment}'`;

/** Violations of the rules about tables, their tags, columns, keys and rights. */
export const tablePlants: Plant[] = [
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
    what: "a check without a message for people",
    sql: "comment on constraint planted_note_check on planted is null",
    violations: [
      "constraint planted_note_check on planted: has no message for people; add `comment on constraint`",
    ],
  },
];
