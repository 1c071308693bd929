import { describe, expect, test } from "@jest/globals";
import type { QueryValue } from "../../src/query/ast.ts";
import {
  parseBigintValue,
  parseBooleanValue,
  parseDecimalValue,
  parseEnumValue,
  parseInstantValue,
  parseIntegerValue,
  parseUuidValue,
} from "../../src/query/values.ts";
import { refusal } from "../helpers/query/refusals.ts";

/** A value at offset 7 of its query. */
function valueOf(text: string): QueryValue {
  return { text, quoted: false, position: 7, end: 7 + text.length };
}

const reasonOf = (parse: (value: QueryValue) => unknown, text: string) =>
  refusal(() => parse(valueOf(text))).reason;

test("an invalid value is rejected at its position", () => {
  expect(refusal(() => parseIntegerValue(valueOf("abc")))).toMatchObject({
    message: "query: `abc` is not a whole number at position 8",
    position: 7,
    length: 3,
  });
});

describe("numbers", () => {
  test("integers have 32 bits", () => {
    const given = ["0", "-0", "007", "2147483647", "-2147483648"].map(valueOf);
    expect(given.map(parseIntegerValue)).toEqual([0, 0, 7, 2147483647, -2147483648]);
    for (const text of ["2147483648", "-2147483649", "9".repeat(3000)]) {
      expect(reasonOf(parseIntegerValue, text)).toMatch(/ is beyond 32 bits$/);
    }
  });

  test("bigints have 64 bits", () => {
    expect(parseBigintValue(valueOf("9223372036854775807"))).toBe(9223372036854775807n);
    expect(parseBigintValue(valueOf("-9223372036854775808"))).toBe(-9223372036854775808n);
    expect(parseBigintValue(valueOf("-000"))).toBe(0n);
    for (const text of ["9223372036854775808", "-9223372036854775809", "9".repeat(3000)]) {
      expect(reasonOf(parseBigintValue, text)).toMatch(/ is beyond 64 bits$/);
    }
  });

  test.each(["", " 1", "1.0", "1e3", "0x10", "+1", "١", "1_000", "NaN", "-"])(
    "%j is not a whole number",
    (text) => {
      expect(reasonOf(parseIntegerValue, text)).toBe(`\`${text}\` is not a whole number`);
      expect(reasonOf(parseBigintValue, text)).toBe(`\`${text}\` is not a whole number`);
    },
  );

  test.each(["0", "12", "-12.50", ".5", "1e300", "1E-300", "0e0", "9".repeat(100)])(
    "%j is a decimal number and keeps its digits",
    (text) => {
      expect(parseDecimalValue(valueOf(text))).toBe(text);
    },
  );

  test.each([
    "",
    "NaN",
    "Infinity",
    "-Infinity",
    "1,5",
    "1.",
    ".",
    "e5",
    "1e",
    "0x1",
    "+1",
    "1e12345",
  ])("%j is not a decimal number", (text) => {
    expect(reasonOf(parseDecimalValue, text)).toMatch(/ is not a number/);
  });

  test.each([
    `.${"0".repeat(98)}1e-300`,
    "1e301",
    "1e400",
    "1e-301",
    "9".repeat(101),
    `${"9".repeat(99)}e300`,
  ])("%j is out of range", (text) => {
    expect(reasonOf(parseDecimalValue, text)).toMatch(/ is beyond the numbers/);
  });
});

describe("booleans, ids and enumerations", () => {
  test("booleans are exactly true and false", () => {
    expect(parseBooleanValue(valueOf("true"))).toBe(true);
    expect(parseBooleanValue(valueOf("false"))).toBe(false);
    for (const text of ["TRUE", "1", "yes", ""]) {
      expect(reasonOf(parseBooleanValue, text)).toBe(`\`${text}\` is neither true nor false`);
    }
  });

  test("ids are whole UUIDs, in either case", () => {
    const id = "019A0B3C-1111-7222-8333-444455556666";
    expect(parseUuidValue(valueOf(id))).toBe(id.toLowerCase());
    for (const text of [id.slice(1), `${id}0`, id.replaceAll("-", ""), `{${id}}`, ""]) {
      expect(reasonOf(parseUuidValue, text)).toMatch(/ is not an id/);
    }
  });

  test("enumerations are exact and suggest similar values", () => {
    const known = ["DRAFT", "ACTIVE", "PAUSED"];
    expect(parseEnumValue(valueOf("DRAFT"), known)).toBe("DRAFT");
    expect(reasonOf((value) => parseEnumValue(value, known), "draft")).toBe(
      "`draft` is not one of DRAFT, ACTIVE, PAUSED (did you mean `DRAFT`?)",
    );
    const many = Array.from({ length: 11 }, (_, index) => `K${index}`);
    expect(reasonOf((value) => parseEnumValue(value, many), "zzzz")).toBe(
      "`zzzz` is not one of K0, K1, K2, K3, K4, K5, K6, K7, K8, K9, …",
    );
  });
});

describe("dates", () => {
  const now = new Date("2026-03-31T10:20:30.456Z");
  const interval = (text: string) => {
    const { from, to } = parseInstantValue(valueOf(text), now);
    return [from.toISOString(), to.toISOString()].map((time) => time.replace(".000Z", "Z"));
  };

  test.each([
    ["2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    ["2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    ["2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"],
    ["0001", "0001-01-01T00:00:00Z", "0002-01-01T00:00:00Z"],
    ["0099-12-31", "0099-12-31T00:00:00Z", "0100-01-01T00:00:00Z"],
    ["9999-12-31", "9999-12-31T00:00:00Z", "+010000-01-01T00:00:00Z"],
    ["2026-01-31T12:00Z", "2026-01-31T12:00:00Z", "2026-01-31T12:01:00Z"],
    ["2026-01-31T12:00:59Z", "2026-01-31T12:00:59Z", "2026-01-31T12:01:00Z"],
    ["2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500Z", "2026-01-31T12:00:00.501Z"],
    ["2026-01-31T12:00:00.789Z", "2026-01-31T12:00:00.789Z", "2026-01-31T12:00:00.790Z"],
    ["2026-01-01T00:30:00+02:00", "2025-12-31T22:30:00Z", "2025-12-31T22:30:01Z"],
    ["2026-01-31T12:00:00-03:30", "2026-01-31T15:30:00Z", "2026-01-31T15:30:01Z"],
    ["now", "2026-03-31T10:20:30.456Z", "2026-03-31T10:20:30.457Z"],
    ["now-7d", "2026-03-24T10:20:30.456Z", "2026-03-24T10:20:30.457Z"],
    ["now+90s", "2026-03-31T10:22:00.456Z", "2026-03-31T10:22:00.457Z"],
    ["now-5m", "2026-03-31T10:15:30.456Z", "2026-03-31T10:15:30.457Z"],
    ["now-1M", "2026-02-28T10:20:30.456Z", "2026-02-28T10:20:30.457Z"],
    ["today", "2026-03-31T00:00:00Z", "2026-04-01T00:00:00Z"],
    ["yesterday", "2026-03-30T00:00:00Z", "2026-03-31T00:00:00Z"],
    ["tomorrow", "2026-04-01T00:00:00Z", "2026-04-02T00:00:00Z"],
    ["today+1w", "2026-04-07T00:00:00Z", "2026-04-08T00:00:00Z"],
    ["today+1M", "2026-04-30T00:00:00Z", "2026-05-01T00:00:00Z"],
    ["today-13M", "2025-02-28T00:00:00Z", "2025-03-01T00:00:00Z"],
    ["today-2y", "2024-03-31T00:00:00Z", "2024-04-01T00:00:00Z"],
    ["today+8h", "2026-03-31T08:00:00Z", "2026-03-31T08:00:00.001Z"],
  ])("%s is from %s to %s", (text, from, to) => {
    expect(interval(text)).toEqual([from, to]);
  });

  test("29 February moves to the last of February in a common year", () => {
    const leapDay = new Date("2024-02-29T12:00:00Z");
    const { from } = parseInstantValue(valueOf("today+1y"), leapDay);
    expect(from.toISOString()).toBe("2025-02-28T00:00:00.000Z");
  });

  test.each([
    ["2026-02-30", "is not in the calendar"],
    ["2025-02-29", "is not in the calendar"],
    ["2026-13", "is not in the calendar"],
    ["2026-00-01", "is not in the calendar"],
    ["2026-01-00", "is not in the calendar"],
    ["2026-01-31T24:00:00Z", "is not in the calendar"],
    ["2026-01-31T12:60Z", "is not in the calendar"],
    ["2026-12-31T23:59:60Z", "is not in the calendar"],
    ["2026-01-31T12:00:00", "has no time zone (add Z for UTC)"],
    ["2026-01-31T12:00", "has no time zone (add Z for UTC)"],
    ["2026-01-31T12:00:00+14:01", "has a time zone that does not exist"],
    ["2026-01-31T12:00:00+02:60", "has a time zone that does not exist"],
    ["0000", "is beyond the years 1 to 9999"],
    ["0001-01-01T00:00:00+01:00", "is beyond the years 1 to 9999"],
    ["now+999999y", "is beyond the years 1 to 9999"],
    ["now-9999y", "is beyond the years 1 to 9999"],
  ])("%s %s", (text, problem) => {
    const parse = (value: QueryValue) => parseInstantValue(value, now);
    expect(reasonOf(parse, text)).toBe(`\`${text}\` ${problem}`);
  });

  test.each(
    [
      "",
      "300000",
      "300000-01-01",
      "-2026",
      "26",
      "2026-1-1",
      "20260131",
      "31.01.2026",
      "2026-W05",
    ].concat(
      ["2026-01-31 12:00Z", "2026-01-31t12:00z", "2026-01-31T12:00:00.1234Z", "12:00Z", "Now"],
      [
        "today+1",
        "now-d",
        "now 1d",
        "now+1D",
        "now-1d-1h",
        "now+1000000s",
        "noon",
        "NaN",
        "infinity",
      ],
    ),
  )("%j is not a date", (text) => {
    const parse = (value: QueryValue) => parseInstantValue(value, now);
    expect(reasonOf(parse, text)).toMatch(/ is not a date \(such as /);
  });
});
