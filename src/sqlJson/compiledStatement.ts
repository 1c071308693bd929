import { hash } from "node:crypto";
import type { FieldNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
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

type Late = (given: RequestValues) => Bindable;

/** A parameter that is computed for each request. */
export function requestValue(late: Late): SQL {
  // pg-sql2 returns values as they were put in; only strings and these functions are put in.
  return sql.value(late as never);
}

/** A statement without its parameters. */
export interface Compiled {
  /** The statement with the parameters of a request. */
  statementFor: (given: RequestValues) => PreludeStatement & TextStatement;
  /** Length of the SQL text in characters. */
  length: number;
}

/**
 * Names the statement by its text, so that PostgreSQL keeps its plan. With `plansAnew` it has no name: PostgreSQL plans
 * each execution for its parameters.
 */
export function compiled(statement: SQL, plansAnew = false): Compiled {
  const { text, values } = sql.compile(statement);
  const named = plansAnew ? {} : { name: hash("sha1", text, "base64url") };
  // pg-sql2 types values as unknown; see `lateValue` for what is put in.
  const kept = values as (Bindable | Late)[];
  const statementFor = (given: RequestValues) => ({
    text,
    ...named,
    // Numbers and lists occur only in the last statement, whose parameters `pg` encodes.
    values: kept.map((value) =>
      typeof value === "function" ? value(given) : value,
    ) as PreludeStatement["values"],
  });
  return { statementFor, length: text.length };
}
