import { policy } from "./validTable.ts";
import type { ViolationCase } from "./validTable.ts";

/** Violations of the rules for privileges on tables, columns, sequences and the schema. */
export const privilegeViolations: ViolationCase[] = [
  ...[
    { right: "SELECT", declared: "@internal" },
    {
      right: "INSERT",
      declared: "@read products.read\n@update products.update\n@mutations update",
    },
    {
      right: "UPDATE",
      declared: "@read products.read\n@create products.create\n@mutations create",
    },
    {
      right: "DELETE",
      declared: "@read products.read\n@create products.create\n@mutations create",
    },
  ].map(({ right, declared }) => ({
    what: `the ${right} privilege that the tags do not declare`,
    sql: `comment on table planted is '${declared}\n@audit Planted\nA table.';
      select protect_table('planted'); grant ${right} on planted to office_api`,
    violations: [
      `table planted: office_api may ${right}, which its tags do not declare; declare it or revoke the grant`,
    ],
  })),
  {
    what: "a column privilege that the tags do not declare",
    sql: `comment on table planted is '@read products.read\n@audit Planted\nA table.';
      select protect_table('planted'); grant update (note) on planted to office_api`,
    violations: [
      "table planted: office_api may UPDATE, which its tags do not declare; declare it or revoke the grant",
    ],
  },
  {
    what: "a secret column that is readable",
    sql: "comment on column planted.note is '@secret\nA note.'; select protect_table('planted'); grant select on planted to office_api",
    violations: ["column planted.note: has the tag @secret and can be read; remove the grant"],
  },
  ...["TRUNCATE", "REFERENCES", "TRIGGER", "MAINTAIN"].map((right) => ({
    what: `the ${right} privilege`,
    sql: `grant ${right} on planted to office_api`,
    violations: [`table planted: office_api holds ${right}, which no request role may`],
  })),
  {
    what: "a privilege of the server's login role",
    sql: `grant delete on planted to office_server; ${policy("for delete to office_server using (product_id is null)")}`,
    violations: ["table planted: office_server holds DELETE, which no request role may"],
  },
  {
    what: "a privilege of PUBLIC",
    sql: "grant select on planted to public",
    violations: ["table planted: PUBLIC holds SELECT"],
  },
  {
    what: "a column privilege of PUBLIC",
    sql: "grant select (note) on planted to public",
    violations: ["column planted.note: PUBLIC holds SELECT"],
  },
  {
    what: "a column privilege of the server's login role",
    sql: `grant update (note) on planted to office_server; ${policy("for update to office_server using (product_id is null) with check (product_id is null)")}`,
    violations: ["column planted.note: office_server holds UPDATE, which no request role may"],
  },
  {
    what: "a REFERENCES privilege on a column",
    sql: "grant references (note) on planted to office_api",
    violations: ["column planted.note: office_api holds REFERENCES, which no request role may"],
  },
  {
    what: "a privilege with grant option",
    sql: "grant delete on planted to office_api with grant option",
    violations: ["table planted: office_api holds DELETE with grant option; grant it without"],
  },
  {
    what: "a column privilege with grant option",
    sql: "grant update (note) on planted to office_api with grant option",
    violations: [
      "column planted.note: office_api holds UPDATE with grant option; grant it without",
    ],
  },
  ...["USAGE", "SELECT", "UPDATE"].map((right) => ({
    what: `the ${right} privilege on a sequence`,
    sql: `create sequence numbers; grant ${right} on sequence numbers to office_api`,
    violations: [
      `sequence numbers: office_api holds ${right}; a key of uuidv7() or an identity column needs no such right`,
    ],
  })),
  {
    what: "a sequence privilege of PUBLIC",
    sql: "create sequence numbers; grant usage on sequence numbers to public",
    violations: [
      "sequence numbers: PUBLIC holds USAGE; a key of uuidv7() or an identity column needs no such right",
    ],
  },
  {
    what: "the CREATE privilege on the schema",
    sql: "grant create on schema backoffice to office_api",
    violations: ["schema backoffice: office_api may create objects in it; revoke CREATE"],
  },
  {
    what: "a schema with USAGE for PUBLIC",
    sql: "grant usage on schema backoffice to public",
    violations: ["schema backoffice: PUBLIC holds USAGE"],
  },
  {
    what: "a readable migrations table",
    sql: "grant select on schema_migrations to office_api",
    violations: [
      "table schema_migrations: office_api may SELECT but no policy says which rows",
      "table schema_migrations: office_api may SELECT, which its tags do not declare; declare it or revoke the grant",
    ],
  },
  {
    what: "a migrations table without forced row-level security",
    sql: "alter table schema_migrations no force row level security",
    violations: ["table schema_migrations: row-level security must be enabled and forced"],
  },
  {
    what: "a partition with a direct grant",
    sql: `grant select on audit_log_reads_default to office_api;
      create policy direct on audit_log_reads_default for select to office_api using ((select has_permission('audit.read')))`,
    violations: ["partition audit_log_reads_default: can be reached directly by office_api"],
  },
  {
    what: "a partition with a direct column grant",
    sql: `grant select (id) on audit_log_reads_default to office_api;
      create policy direct on audit_log_reads_default for select to office_api using ((select has_permission('audit.read')))`,
    violations: ["partition audit_log_reads_default: can be reached directly by office_api"],
  },
];
