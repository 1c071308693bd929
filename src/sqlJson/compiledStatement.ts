import { hash } from "node:crypto";
import type { FieldNode } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";
import type { PreludeStatement } from "../postgres/PipelinedQuery.ts";
import type { TextStatement } from "../postgres/textAnswer.ts";
import type { Bindable } from "../query/bind.ts";

/** What a request gives to a statement that others of the same shape share. */
export interface Given {
  /** The operation's variables as they were sent, and the defaults of those that were not. */
  variables: Record<string, unknown>;
  /** The root fields by the keys of their answers, as this request's document has them. */
  nodes: ReadonlyMap<string, FieldNode>;
  /** The parameters that fields' arguments come to: of root fields by the same keys, of others by `nestedKey`. */
  values: ReadonlyMap<string, readonly Bindable[]>;
}

type Late = (given: Given) => Bindable;

/** A value that is known only with each request. */
export function lateValue(late: Late): SQL {
  // A compiled statement gives its values back as they were put in; only texts and these are.
  return sql.value(late as never);
}

/** A statement without its values. */
export interface Compiled {
  /** For the values of a request. */
  statementFor: (given: Given) => PreludeStatement & TextStatement;
  /** Of its text, in characters. */
  length: number;
}

/**
 * A statement under a name that stands for its text, or without one where `plansAnew`: under a name PostgreSQL keeps a plan for all
 * values, of which it knows only what they cost together.
 */
export function compiled(statement: SQL, plansAnew = false): Compiled {
  const { text, values } = sql.compile(statement);
  const named = plansAnew ? {} : { name: hash("sha1", text, "base64url") };
  // The library types values as anything that can be written; see `lateValue` for what is put in.
  const kept = values as unknown as (Bindable | Late)[];
  const statementFor = (given: Given) => ({
    text,
    ...named,
    // Numbers and lists stand only in statements that come last, which `pg` itself writes.
    values: kept.map((value) =>
      typeof value === "function" ? value(given) : value,
    ) as PreludeStatement["values"],
  });
  return { statementFor, length: text.length };
}
