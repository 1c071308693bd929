import { test } from "@jest/globals";
import { parsePlPgSQLSync } from "../../src/migration/lint/parser.ts";
import { contractOf } from "../helpers/internals/contract.ts";

type Fields = Record<string, unknown>;

test("a PL/pgSQL function is parsed to its variables and statements", () => {
  const requireThat = contractOf("libpg-query", "src/migration/functions/body.ts");
  const tree = parsePlPgSQLSync(`create function f() returns integer as $$
    declare
      v_count integer := 1;
    begin
      return v_count + 1;
    end;
    $$ language plpgsql`) as unknown as {
    plpgsql_funcs?: { PLpgSQL_function?: { datums?: Fields[]; action?: Fields } }[];
  };
  const { datums = [], action } = tree.plpgsql_funcs?.[0]?.PLpgSQL_function ?? {};
  const variable = datums
    .map(({ PLpgSQL_var: fields }) => fields as Fields | undefined)
    .find((fields) => fields?.["refname"] === "v_count");
  requireThat("datums holds variables as PLpgSQL_var with refname", variable !== undefined);
  const text = JSON.stringify(variable ?? {});
  requireThat(
    "a variable has its datatype's typname and default_val",
    text.includes('"typname"') && text.includes('"default_val"'),
  );
  requireThat(
    "action holds a PLpgSQL_stmt_block with body, PLpgSQL_stmt_return and PLpgSQL_expr with query",
    /"PLpgSQL_stmt_block":.*"body":.*"PLpgSQL_stmt_return":.*"PLpgSQL_expr":\{"query":"v_count \+ 1"/.test(
      JSON.stringify(action ?? {}),
    ),
  );
});
