import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { ExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { createExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { startOwnSqlService } from "../helpers/migration/ownSqlService.ts";

let own: ExtraSqlDir;
let service: Awaited<ReturnType<typeof startOwnSqlService>>;

/** Parameters of a function by type: the type in SQL, a value in GraphQL, and the text that arrives. */
const parameters: [name: string, type: string, value: string, text: string][] = [
  ["whole", "integer", "6", "6"],
  ["small", "smallint", "-7", "-7"],
  ["large", "bigint", '"9007199254740993"', "9007199254740993"],
  ["rough", "double precision", "0.1", "0.1"],
  ["rougher", "real", "1.5", "1.5"],
  ["exact", "numeric", '"12.50"', "12.50"],
  ["truth", "boolean", "false", "false"],
  ["words", "text", '"a\'b"', "a'b"],
  ["day", "date", '"2026-01-31"', "2026-01-31"],
  ["moment", "timestamptz", '"2026-01-31T10:00:00Z"', "2026-01-31 10:00:00+00"],
  ["wholes", "integer[]", "[1, 2]", "{1,2}"],
  ["texts", "text[]", '["a,b", "c"]', '{"a,b",c}'],
  ["truths", "boolean[]", "[true, false]", "{t,f}"],
  ["state", "campaign_status", "DRAFT", "DRAFT"],
  ["states", "campaign_status[]", "[DRAFT, PAUSED]", "{DRAFT,PAUSED}"],
  ["days", "daterange", '{ start: { value: "2026-01-01", inclusive: true } }', "[2026-01-01,)"],
  ["anything", "jsonb", '{ a: [1, "b"] }', '{"a": [1, "b"]}'],
];

beforeAll(async () => {
  own = await createExtraSqlDir();
  const list = parameters.map(([name, type]) => `"${name}" ${type} default null`).join(", ");
  const texts = parameters.map(([name]) => `'${name}', note_wine_type."${name}"::text`).join(", ");
  await own.logic(
    "note_wine_type",
    `create or replace function note_wine_type(name text, ${list}) returns wine_types as $$
     declare
       v_type wine_types;
     begin
       perform require_permission('products.update');
       insert into wine_types (name) values (note_wine_type.name) returning * into v_type;
       v_type.name := jsonb_strip_nulls(jsonb_build_object(${texts}))::text;
       return v_type;
     end;
     $$ language plpgsql volatile security definer set search_path from current;
     comment on function note_wine_type is E'@guard products.update\\nAdds a type and returns it with the arguments as its name.';
     grant execute on function note_wine_type to office_api;`,
  );
  service = await startOwnSqlService(own.path);
});
afterAll(async () => {
  await service.stop();
  await own.remove();
});

test.each(parameters)(
  "an argument %s %s arrives as its value",
  async (name, _type, value, text) => {
    const { data, errors, headers } = await service.ask(
      `mutation { noteWineType(name: "by ${name}", ${name}: ${value}) { name } }`,
      { token: service.token },
    );
    expect(errors).toBeUndefined();
    expect(headers.get("x-answered-by")).toBe("sql-json");
    expect(JSON.parse(data.noteWineType.name)).toEqual({ [name]: text });
  },
);

test("an error of a column names the argument of its name", async () => {
  const { errors } = await service.ask('mutation { noteWineType(name: "  ") { name } }', {
    token: service.token,
  });
  expect(errors).toMatchObject([
    { path: ["noteWineType"], extensions: { code: "BAD_USER_INPUT", path: ["name"] } },
  ]);
});
