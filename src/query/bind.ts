import { sql } from "postgraphile/pg-sql2";
import type { SQL } from "postgraphile/pg-sql2";

/** A value of a query as a statement parameter. */
export type Bindable = string | number | boolean | null | readonly (string | number | boolean)[];

/** Adds a value as a parameter. Calls for one condition come in the same order each time. */
export type Bind = (value: Bindable) => SQL;

/** Refers to the nth of values that are supplied later. */
export type BindNth = (n: number) => SQL;

/** A test of a field's value; `column` is the field as SQL. */
export type Test = (column: SQL, bind: Bind) => SQL;

/** A parameter with its value. */
export const bindValue: Bind = (value) => sql.value(value);
