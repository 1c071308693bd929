import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { TYPES } from "postgraphile/@dataplan/pg";
import { fitsType } from "../../src/paging/cursorValues.ts";
import { createDatabase, type TestDatabase } from "../helpers/database.ts";

// Values in cursors that a caller may have forged.
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(async () => {
  await database.drop();
});

const written = {
  uuid: ["0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a"],
  text: ["", "Château 🍷", "20"],
  int2: [1999, "-32768", 32767],
  int: [0, 2147483647, "-2147483648"],
  bigint: ["9223372036854775807", "-9223372036854775808", "0"],
  numeric: ["12.50", "-0.001", "NaN", "Infinity", "9".repeat(1000)],
  boolean: [true, false],
  timestamptz: ["2026-02-28T23:59:59.123456+00:00", "0001-01-01T00:00:00.000000-09:30"],
  date: ["2024-02-29", "0001-12-31", "12026-01-01", "294275-02-28"],
} as const;
type Kind = keyof typeof written;
const kinds = Object.keys(written) as Kind[];

describe("a value in a cursor", () => {
  test.each(kinds)("is accepted in the format of %s", (kind) => {
    for (const value of written[kind])
      expect([value, fitsType(TYPES[kind], value)]).toEqual([value, true]);
  });

  test.each<[Kind, readonly unknown[]]>([
    ["uuid", ["", 1, true, "0198f2c47b1e7c3d9a552f6d1c0b8e4a"]],
    ["text", [1, true, "a\0"]],
    ["int2", [32768, 1.5, "1e3", "", " 1", true]],
    ["int", ["2147483648", 2 ** 40, "x", false]],
    ["bigint", ["9223372036854775808", 1e30]],
    ["numeric", ["1e5", "1.", "", "12,5", true, "9".repeat(131_073)]],
    ["boolean", ["true", 1, "t"]],
    ["timestamptz", ["now", "2026-01-01", "2026-02-30T00:00:00.000000+00:00", 0]],
    [
      "date",
      [
        "today",
        "2026-02-29",
        "2026-13-01",
        "0000-01-01",
        "300000-01-01",
        "1900-02-29",
        "2026-1-1",
        20260101,
      ],
    ],
  ])("is rejected when it is no %s", (kind, values) => {
    for (const value of values)
      expect([value, fitsType(TYPES[kind], value)]).toEqual([value, false]);
  });

  test("is accepted by PostgreSQL, also after changes by a caller", async () => {
    const changed = fc.constantFrom(...kinds).chain((kind) =>
      fc.record({
        kind: fc.constant(kind),
        value: fc.constantFrom(...written[kind].map(String)),
        place: fc.nat(40),
        length: fc.nat(3),
        by: fc.oneof(
          fc.constantFrom("", "0", "9", "-", "+", ":", ".", " ", "e", "T", "3", "16"),
          fc.string({ maxLength: 2 }),
        ),
      }),
    );
    const passed: [type: Kind, value: string][] = [];
    fc.assert(
      fc.property(changed, ({ kind, value, place, length, by }) => {
        const made = value.slice(0, place) + by + value.slice(place + length);
        if (kind !== "boolean" && fitsType(TYPES[kind], made)) passed.push([kind, made]);
      }),
      { numRuns: 20_000, seed: 3 },
    );
    expect(passed.length).toBeGreaterThan(1_000);
    const { rows } = await database.pool.query<{ type: string; value: string }>(
      `select type, value from unnest($1::text[], $2::text[]) as made (type, value)
       where not pg_input_is_valid(value, type)`,
      [passed.map(([type]) => type), passed.map(([, value]) => value)],
    );
    expect(rows).toEqual([]);
  });
});
