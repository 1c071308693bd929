import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

/** A value of a query, as a statement may be given it. */
export type Bindable = string | number | boolean | null | readonly (string | number | boolean)[];

/** Puts a value into a statement, never as part of its text. The calls for one condition come in the same order each time. */
export type Bind = (value: Bindable) => SQL;

/** Makes a parameter of the nth of values that are known from elsewhere. */
export type BindNth = (n: number) => SQL;

/** A test of a field's value; `column` is the field as SQL. */
export type Test = (column: SQL, bind: Bind) => SQL;

/** A parameter of the statement, with its value. */
export const bindValue: Bind = (value) => sql.value(value);
