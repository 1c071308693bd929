import { hash } from "node:crypto";
import type { FieldNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import { type Guard, loginRequirement, permissionKeys } from "../auth/guards.ts";
import type { HideablePlace, Rights } from "../graphql/hiddenFields.ts";
import type { PreludeStatement } from "../postgres/PipelinedQuery.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import type { Bindable } from "../query/bind.ts";

/** The parameters of a request for a statement that requests of the same shape share. */
export interface RequestValues {
  /** The variables as sent, with defaults for missing ones. */
  variables: Record<string, unknown>;
  /** The root fields of this request's document by response key. */
  nodes: ReadonlyMap<string, FieldNode>;
  /** The parameters of fields: root fields by response key, others by `nestedKey`. */
  values: ReadonlyMap<string, readonly Bindable[]>;
}

type RequestParameter = (given: RequestValues) => Bindable;

/** A parameter that is computed for each request. */
export function requestParameter(parameter: RequestParameter): SQL {
  // pg-sql2 returns values unchanged; only strings and these functions are passed to it.
  return sql.value(parameter as never);
}

/** A statement without its parameters. */
export interface Compiled {
  /** The statement with the parameters of a request. */
  statementFor: (given: RequestValues) => PreludeStatement & TextStatement;
  /** Length of the SQL text in characters. */
  length: number;
}

/**
 * Names the statement by its text, so that PostgreSQL caches its plan. With `usesCustomPlan` it has no name, and PostgreSQL
 * plans each execution for its parameters.
 */
export function compiled(statement: SQL, usesCustomPlan = false): Compiled {
  const { text, values } = sql.compile(statement);
  const named = usesCustomPlan ? {} : { name: hash("sha1", text, "base64url") };
  // pg-sql2 types values as unknown; `lateValue` defines their types.
  const allValues = values as (Bindable | RequestParameter)[];
  const statementFor = (given: RequestValues) => ({
    text,
    ...named,
    // Only the last statement has numbers and lists as parameters, which `pg` encodes; those of a call are texts.
    values: allValues.map((value) =>
      typeof value === "function" ? value(given) : value,
    ) as PreludeStatement["values"],
  });
  return { statementFor, length: text.length };
}

const isAuthenticated = sql`current_user_id() is not null`;
const logins = { login: sql`not is_scoped()`, session: sql`is_session()` } as const;

/** The SQL condition of a guard; equivalent to `checkGuard`. */
export function guardSql(guard: Guard): SQL {
  if (guard === "public") return sql.true;
  if (guard === "principal") return isAuthenticated;
  const login = loginRequirement(guard);
  const conditions = [isAuthenticated, ...(login === undefined ? [] : [logins[login]])];
  if (typeof guard === "string") return sql.join(conditions, " and ");
  const keys = permissionKeys(guard);
  if (keys.length === 0) return sql.false;
  const held = keys.map((key) => sql`has_permission(${sql.literal(key)})`);
  return sql.join([...conditions, ...held], " and ");
}

/** Adds the caller's rights to a statement as a column, where they decide what its fields show. */
export function withRights(answer: SQL, places: readonly HideablePlace[]): SQL {
  if (!places.some(({ needs }) => needs.length > 0)) return answer;
  const scoped = sql`current_setting('office.scoped', true)`;
  const permissions = sql`current_setting('office.permissions', true)`;
  return sql`select answer.data, ${scoped} || ',' || ${permissions} as rights from (${answer}) as answer`;
}

/** Reads the column of {@link withRights}. */
export function rightsOf(column: string): Rights {
  const [scoped, ...keys] = column.split(",");
  const held = new Set(keys);
  return { holds: (key) => held.has(key), isScoped: scoped === "true" };
}

/** The condition that no hideable field must be an error for the caller; otherwise the statement returns no row. */
export function scopedKeyConditions(places: readonly HideablePlace[]): SQL[] {
  const keys = new Set(places.flatMap(({ scopedKey }) => scopedKey ?? []));
  return Array.from(keys, (key) => sql`(not is_scoped() or has_permission(${sql.literal(key)}))`);
}
