import { policy } from "./validTable.ts";
import type { ViolationCase } from "./validTable.ts";

/** Creates a function with the tag `@computed`. */
const computed = (parameter: string, kind: string) =>
  `create function planted_words(${parameter}) returns text as $$ select 'a' $$ language sql ${kind};
   comment on function planted_words is E'@computed\\nA field of the test.';
   revoke execute on function planted_words from public;
   grant execute on function planted_words to office_api`;

/** Violations of the rules for policies and functions. */
export const policyViolations: ViolationCase[] = [
  {
    what: "a policy for PUBLIC",
    sql: policy("for select using ((select has_permission('products.read')))"),
    violations: ["policy planted_bad on planted: is for PUBLIC"],
  },
  {
    what: "a policy that lets everyone insert",
    sql: policy("for insert to office_api with check (true)"),
    violations: [
      "policy planted_bad on planted: lets everyone write (`true`); write a condition such as `(select has_permission('products.update'))`",
    ],
  },
  {
    what: "a policy that lets everyone update",
    sql: policy(
      "for update to office_api using (true) with check ((select has_permission('products.update')))",
    ),
    violations: [
      "policy planted_bad on planted: lets everyone write (`true`); write a condition such as `(select has_permission('products.update'))`",
    ],
  },
  {
    what: "a policy that lets everyone delete",
    sql: policy("for delete to office_api using (true)"),
    violations: [
      "policy planted_bad on planted: lets everyone write (`true`); write a condition such as `(select has_permission('products.update'))`",
    ],
  },
  {
    what: "a policy that lets everyone do everything",
    sql: policy("to office_worker using (true) with check (true)"),
    violations: [
      "policy planted_bad on planted: lets everyone write (`true`); write a condition such as `(select has_permission('products.update'))`",
    ],
  },
  {
    what: "an update that checks only the old row",
    sql: policy("for update to office_api using ((select has_permission('products.update')))"),
    violations: [
      "policy planted_bad on planted: a policy for writing needs a check of the new row; give `ensure_policy` the condition as the last argument too",
    ],
  },
  {
    what: "a permission check for each row",
    sql: policy("for select to office_api using (has_permission('products.read'))"),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "a permission check for each new row",
    sql: policy(
      "for insert to office_api with check (has_permission('products.create') and note is null)",
    ),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "a permission check for each row beside one per statement",
    sql: policy(
      "for select to office_api using ((select has_permission('products.read')) or has_permission('products.update'))",
    ),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "a caller lookup for each row",
    sql: policy("for select to office_api using (product_id = current_user_id())"),
    violations: [
      "policy planted_bad on planted: calls current_user_id for each row; write `(select current_user_id(...))`",
    ],
  },
  {
    what: "a caller lookup for each row of another table",
    sql: policy(
      "for select to office_api using (exists (select from users u where u.id = product_id and u.id = current_user_id()))",
    ),
    violations: [
      "policy planted_bad on planted: calls current_user_id for each row; write `(select current_user_id(...))`",
    ],
  },
  {
    what: "a policy that asks for an unknown permission",
    sql: policy("for select to office_api using ((select has_permission('product.read')))"),
    violations: [
      "policy planted_bad on planted: asks for the unknown permission product.read; did you mean products.read? Or insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a policy that asks for one of several permissions, of which one is unknown",
    sql: policy(
      "for select to office_api using ((select has_any_permission('products.read', 'product.read')))",
    ),
    violations: [
      "policy planted_bad on planted: asks for the unknown permission product.read; did you mean products.read? Or insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a policy that lets everyone read",
    sql: policy("for select to office_api using (true)"),
    violations: [
      "policy planted_bad on planted: lets everyone read (`true`); write a condition such as `(select has_permission('products.read'))`",
    ],
  },
  {
    what: "a grant without a policy",
    sql: "drop policy planted_delete on planted",
    violations: ["table planted: office_api may DELETE but no policy says which rows"],
  },
  {
    what: "a column grant without a policy",
    sql: "drop policy planted_update on planted",
    violations: ["table planted: office_api may UPDATE but no policy says which rows"],
  },
  {
    what: "a security definer function without a search_path",
    sql: "alter function planted_things reset search_path",
    violations: [
      "function planted_things(text): a security definer function must pin its search_path; write `set search_path from current`",
    ],
  },
  {
    what: "a security definer function that searches another schema first",
    sql: "alter function planted_things(text) set search_path = public",
    violations: [
      "function planted_things(text): searches other schemas before this one; write `set search_path from current`",
    ],
  },
  {
    what: "a security definer function that searches the temporary schema first",
    sql: "alter function planted_things(text) set search_path = backoffice, extensions",
    violations: [
      "function planted_things(text): searches other schemas before this one; write `set search_path from current`",
    ],
  },
  {
    what: "a function owned by another role",
    sql: "reset role; alter function planted_things(text) owner to office_worker",
    violations: ["function planted_things(text): belongs to office_worker, not to office_owner"],
  },
  {
    what: "a function granted with grant option",
    sql: "grant execute on function planted_things to office_api with grant option",
    violations: [
      "function planted_things(text): office_api holds EXECUTE with grant option; grant it without",
    ],
  },
  {
    what: "a function that PUBLIC may execute",
    sql: "grant execute on function planted_things to public",
    violations: ["function planted_things(text): may be executed by PUBLIC; revoke it"],
  },
  {
    what: "a function with PostgreSQL's default privileges",
    sql: `reset role; create function loose() returns integer language sql stable return 1;
      alter function loose owner to office_owner;
      comment on function loose is 'A function.'`,
    violations: ["function loose(): may be executed by PUBLIC; revoke it"],
  },
  {
    what: "an executable function whose comment has only tags",
    sql: "comment on function planted_things is '@guard products.read'",
    violations: [
      "function planted_things(text): is executable by the request role and has no description",
    ],
  },
  {
    what: "a guard with an unknown permission",
    sql: "comment on function planted_things is '@guard products.read products.eat\nA function.'",
    violations: [
      "function planted_things(text): the tag @guard names the unknown permission products.eat; did you mean products.read? Or insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a guard without a permission",
    sql: "comment on function planted_things is '@guard\nA function.'",
    violations: [
      "comment of function planted_things(text): the tag @guard has no value; write `@guard <permission>`",
    ],
  },
  {
    what: "a guarded function without an execute grant",
    sql: "revoke execute on function planted_things from office_api",
    violations: [
      "function planted_things(text): has a @guard but the request role may not execute it; add `grant execute on function planted_things to office_api`",
    ],
  },
  {
    what: "a function that asks for an unknown permission",
    sql: `create or replace function planted_things(note text) returns text as $$ select require_permission('products.reed')::text $$
      language sql stable security definer set search_path from current`,
    violations: [
      "function planted_things(text): asks for the unknown permission products.reed; did you mean products.read? Or insert it into `permissions` in a migration",
    ],
  },
  {
    what: "a function that queues a job of an unknown task",
    sql: `create or replace function planted_things(note text) returns text as $$ select enqueue_job('run_exports', '{}')::text $$
      language sql volatile security definer set search_path from current`,
    violations: [
      "function planted_things(text): queues a job of the task 'run_exports', which no worker has; did you mean run_export?",
    ],
  },
  {
    what: "a guarded function without a result",
    sql: `create function planted_nothing() returns void as 'select' language sql;
      comment on function planted_nothing is E'@guard products.read\\nNothing.';
      revoke execute on function planted_nothing from public;
      grant execute on function planted_nothing to office_api`,
    violations: [
      "function planted_nothing(): has a @guard and returns void; return the changed row, or a boolean",
    ],
  },
  {
    what: "guarded functions that the API cannot have",
    sql: [
      "function planted_any(value anyelement) returns text as 'select 1::text'",
      "function planted_many(variadic names text[]) returns text as 'select 1::text'",
      "function planted_nameless(integer) returns text as 'select 1::text'",
      "function planted_record() returns record as 'select 1'",
      "procedure planted_step() as 'select 1'",
    ]
      .map((definition) => {
        const [kind = "", signature = ""] = /^(\w+) (\w+)/.exec(definition)?.slice(1) ?? [];
        return `create ${definition} language sql;
          comment on ${kind} ${signature} is E'@guard products.read\\nOne.';
          revoke execute on ${kind} ${signature} from public; grant execute on ${kind} ${signature} to office_api`;
      })
      .join(";"),
    violations: [
      "function planted_any(anyelement): has a @guard and an argument of the type anyelement, which the API does not have; name one type",
      "function planted_many(text[]): has a @guard and a variable number of arguments, which the API does not have; take an array without `variadic`",
      "function planted_nameless(integer): has a @guard and no name for its argument 1; give it one",
      "function planted_record(): has a @guard and returns a record without columns, which the API does not have; write `returns table (...)`, or return rows of a table",
      "function planted_step(): has a @guard and is a procedure, which the API does not have; write a function",
    ],
  },
  {
    what: "a function of an index that a dump cannot restore",
    sql: `create function planted_key(value text) returns text as 'select extensions.search_text(value)' language sql immutable;
      alter function planted_key owner to office_owner; revoke execute on function planted_key from public;
      create index planted_key_idx on planted (planted_key(note))`,
    violations: [
      "function planted_key(text): the index planted_key_idx uses it and its body is a string, so that a dump of the database cannot be restored; write the body as `begin atomic ...; end`",
    ],
  },
  {
    what: "a function of a check that a dump cannot restore",
    sql: `create function planted_key(value text) returns boolean as 'select is_label(value, 9)' language sql immutable;
      alter function planted_key owner to office_owner; revoke execute on function planted_key from public;
      alter table planted add constraint planted_key_check check (planted_key(note));
      comment on constraint planted_key_check on planted is 'must be short'`,
    violations: [
      "function planted_key(text): the constraint planted_key_check uses it and its body is a string, so that a dump of the database cannot be restored; write the body as `begin atomic ...; end`",
    ],
  },
  {
    what: "two functions of one name",
    sql: `create function planted_things(number integer) returns text as 'select 1::text' language sql stable;
      revoke execute on function planted_things(integer) from public`,
    violations: [
      "functions planted_things(integer) and planted_things(text): have the same name, so the API has none of them; name them differently, or drop the one that is left from before its parameters changed",
    ],
  },
  {
    what: "a computed field of no row",
    sql: computed("id uuid", "stable"),
    violations: [
      "function planted_words(uuid): has the tag @computed and its first parameter is no row of a table; it must be, such as `supplier suppliers`",
    ],
  },
  {
    what: "a computed field that no caller may execute",
    sql: `${computed("planted planted", "stable")};
      revoke execute on function planted_words from office_api`,
    violations: [
      "function planted_words(planted): has the tag @computed but the request role may not execute it; add `grant execute on function planted_words to office_api`",
    ],
  },
  {
    what: "a computed field that is volatile",
    sql: computed("planted planted", ""),
    violations: [
      "function planted_words(planted): has the tag @computed and is volatile, so it is no field; write `stable`",
    ],
  },
  {
    what: "a computed field with the privileges of the owner",
    sql: computed("planted planted", "stable security definer set search_path from current"),
    violations: [
      "function planted_words(planted): has the tag @computed and runs with the privileges of its owner, which see all rows; write `security invoker`",
    ],
  },
];
