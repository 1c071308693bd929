import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import type { Service } from "../helpers/service.ts";
import { startService } from "../helpers/service.ts";

// Values of types that JSON has no form for, as inputs of a table's mutations and of a function with its row as input.
const crates = `
  set role office_owner;
  create table crates (
    id uuid primary key default uuidv7(),
    label text not null,
    temperature int4range,
    rented daterange,
    open_from date,
    open_until date,
    open daterange generated always as (daterange(open_from, open_until, '[]')) stored,
    closed daterange[],
    matures interval,
    pauses interval[],
    photo bytea,
    details jsonb,
    seals bit(3),
    scanner inet
  );
  comment on table crates is E'@read products.read\\n@create products.update\\n@update products.update\\n@mutations create update\\n@audit off because it is made by a test\\nCrates of bottles.';
  comment on column crates.label is 'The label.';
  comment on column crates.temperature is 'In degrees Celsius.';
  comment on column crates.rented is 'The days of the lease.';
  comment on column crates.open_from is 'The first day.';
  comment on column crates.open_until is 'The last day.';
  comment on column crates.open is 'The days.';
  comment on column crates.closed is 'Days without work.';
  comment on column crates.matures is 'How long it matures.';
  comment on column crates.pauses is 'Pauses on the way.';
  comment on column crates.photo is 'A picture.';
  comment on column crates.seals is 'Which seals are whole.';
  comment on column crates.details is 'Details.';
  comment on column crates.scanner is 'The address of the scanner.';
  select protect_table('crates');
  create function change_crate(id uuid, input crates, given text[]) returns crates as $$
  declare
    v_crate crates;
  begin
    perform require_permission('products.update');
    update crates c set
      temperature = change_crate.input.temperature, matures = change_crate.input.matures, photo = change_crate.input.photo
    where c.id = change_crate.id returning * into v_crate;
    return v_crate;
  end;
  $$ language plpgsql volatile security definer set search_path from current;
  comment on function change_crate is E'@guard products.update\\nChanges a crate.';
  revoke execute on function change_crate from public;
  grant execute on function change_crate to office_api;
  reset role;`;

let database: TestDatabase;
let service: Service;
let token: string;

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(crates);
  service = await startService({ database });
  ({ token } = await service.login(["products.read", "products.update"]));
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const fields = `id temperature { start { value inclusive } end { value inclusive } } closed { start { value } end { value } }
  matures { days hours } pauses { minutes } photo details scanner`;
const create = (input: Record<string, unknown>) =>
  service.ask(`mutation ($input: CreateCrateInput!) { createCrate(input: $input) { ${fields} } }`, {
    token,
    variables: { input: { label: "Crate", ...input } },
  });
const range = (start: number, end: number) => ({
  start: { value: start, inclusive: true },
  end: { value: end, inclusive: false },
});

describe("a mutation takes", () => {
  test("a range, open at one end too", async () => {
    const { data } = await create({ temperature: range(10, 14) });
    expect(data.createCrate.temperature).toEqual(range(10, 14));
    const open = await create({ temperature: { start: { value: 3, inclusive: true } } });
    expect(open.data.createCrate.temperature).toEqual({
      start: { value: 3, inclusive: true },
      end: null,
    });
  });

  test("an interval", async () => {
    const { data } = await create({ matures: { days: 3, hours: 6 } });
    expect(data.createCrate.matures).toEqual({ days: 3, hours: 6 });
  });

  test("null for a range or an interval", async () => {
    const { data } = await create({ temperature: null, matures: null });
    expect([data.createCrate.temperature, data.createCrate.matures]).toEqual([null, null]);
    const read = await service.ask(
      "query ($id: ID!) { crate(id: $id) { temperature { start { value } end { value } } matures { days } rented { start { value } end { value } } } }",
      { token, variables: { id: data.createCrate.id } },
    );
    expect(read.data).toEqual({ crate: { temperature: null, matures: null, rented: null } });
  });

  test("bytes unchanged", async () => {
    const photo = Buffer.from([0, 1, 2, 255]).toString("base64");
    const { data } = await create({ photo });
    expect(data.createCrate.photo).toBe(photo);
    const { rows } = await database.pool.query("select photo from crates where id = $1", [
      data.createCrate.id,
    ]);
    expect(rows).toEqual([{ photo: Buffer.from([0, 1, 2, 255]) }]);
  });

  test("lists of these", async () => {
    const day = (value: string) => ({ value, inclusive: true });
    const { data } = await create({
      closed: [{ start: day("2026-12-24"), end: day("2026-12-26") }],
      pauses: [{ minutes: 15 }, { minutes: 30 }],
    });
    expect(data.createCrate).toMatchObject({
      closed: [{ start: { value: "2026-12-24" }, end: { value: "2026-12-27" } }],
      pauses: [{ minutes: 15 }, { minutes: 30 }],
    });
  });

  test("JSON as it is", async () => {
    const details = { start: { value: 1 }, list: [null, { a: "b" }] };
    expect((await create({ details })).data.createCrate.details).toEqual(details);
  });

  test("bits of the column's length", async () => {
    const { data, errors } = await service.ask(
      `mutation { createCrate(input: { label: "Sealed", seals: "101" }) { seals } }`,
      { token },
    );
    expect(errors).toBeUndefined();
    expect(data.createCrate).toEqual({ seals: "101" });
  });

  test("them as the input of a function", async () => {
    const { id } = (await create({})).data.createCrate;
    const input = { temperature: range(1, 2), matures: { days: 1, hours: 0 }, photo: "AP8=" };
    const { data } = await service.ask(
      `mutation ($id: ID!, $input: ChangeCrateInput!) { changeCrate(id: $id, input: $input) {
        temperature { start { value inclusive } end { value inclusive } } matures { days hours } photo } }`,
      { token, variables: { id, input } },
    );
    expect(data.changeCrate).toEqual(input);
  });
});

describe("a mutation rejects", () => {
  const problem = async (input: Record<string, unknown>) => {
    const { errors } = await create(input);
    const [error] = errors ?? [];
    return [error?.extensions.code, error?.message, error?.extensions.path];
  };

  test("a value that its type does not have, with the path of its field", async () => {
    expect(await problem({ scanner: "cellar 3" })).toEqual([
      ...["BAD_USER_INPUT", "scanner is not a valid value", ["input", "scanner"]],
    ]);
  });

  test("a range that ends before it starts, with the path of its field", async () => {
    expect(await problem({ temperature: range(14, 10) })).toEqual([
      ...["BAD_USER_INPUT", "temperature must not end before it starts", ["input", "temperature"]],
    ]);
  });

  test("two dates in the wrong order that a generated range consists of", async () => {
    expect(await problem({ openFrom: "2026-12-24", openUntil: "2026-12-23" })).toEqual([
      ...["BAD_USER_INPUT", "The end must not be before the start", undefined],
    ]);
  });
});
