import { policy } from "./soundTable.ts";
import type { Plant } from "./soundTable.ts";

/** Violations of the rules for policies and functions. */
export const policyPlants: Plant[] = [
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
    what: "a permission asked for each row beside one asked once",
    sql: policy(
      "for select to office_api using ((select has_permission('products.read')) or has_permission('products.update'))",
    ),
    violations: [
      "policy planted_bad on planted: calls has_permission for each row; write `(select has_permission(...))`",
    ],
  },
  {
    what: "the caller asked for each row",
    sql: policy("for select to office_api using (product_id = current_user_id())"),
    violations: [
      "policy planted_bad on planted: calls current_user_id for each row; write `(select current_user_id(...))`",
    ],
  },
  {
    what: "the caller asked for each row of another table",
    sql: policy(
      "for select to office_api using (exists (select from users u where u.id = product_id and u.id = current_user_id()))",
    ),
    violations: [
      "policy planted_bad on planted: calls current_user_id for each row; write `(select current_user_id(...))`",
    ],
  },
  {
    what: "a policy that lets everyone read",
    sql: policy("for select to office_api using (true)"),
    violations: ["policy planted_bad on planted: lets everyone read (`true`)"],
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
    what: "a definer function with the caller's search path",
    sql: "alter function planted_things reset search_path",
    violations: [
      "function planted_things(text): a security definer function must pin its search_path",
    ],
  },
  {
    what: "a definer function that looks elsewhere first",
    sql: "alter function planted_things(text) set search_path = public",
    violations: [
      "function planted_things(text): searches other schemas before this one; write `set search_path from current`",
    ],
  },
  {
    what: "a definer function that looks into the caller's temporary schema first",
    sql: "alter function planted_things(text) set search_path = backoffice, extensions",
    violations: [
      "function planted_things(text): searches other schemas before this one; write `set search_path from current`",
    ],
  },
  {
    what: "a function of another role",
    sql: "reset role; alter function planted_things(text) owner to office_worker",
    violations: ["function planted_things(text): belongs to office_worker, not to office_owner"],
  },
  {
    what: "a function that may be handed on",
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
    what: "a function with the rights that PostgreSQL gives by itself",
    sql: `reset role; create function loose() returns integer language sql stable return 1;
      alter function loose owner to office_owner;
      comment on function loose is 'A function.'`,
    violations: ["function loose(): may be executed by PUBLIC; revoke it"],
  },
  {
    what: "an open function that is described by tags only",
    sql: "comment on function planted_things is '@guard products.read'",
    violations: [
      "function planted_things(text): is executable by the request role and has no description",
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
    violations: [
      "comment of function planted_things(text): the tag @guard has no value; write `@guard <permission>`",
    ],
  },
  {
    what: "a guarded function that no request can execute",
    sql: "revoke execute on function planted_things from office_api",
    violations: [
      "function planted_things(text): has a @guard but the request role may not execute it",
    ],
  },
];
