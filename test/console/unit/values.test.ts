import { afterEach, describe, expect, test } from "@jest/globals";
import {
  ValueError,
  dateInWords,
  defaultValues,
  dirtyNames,
  isRowKey,
  toFormValue,
  toFormValues,
  toInputValue,
} from "../../../admin/src/generic/record/values.ts";
import type { EntityField } from "../../../admin/src/meta/entities.ts";
import { formatValue, formatWithUnit } from "../../../admin/src/meta/format.ts";
import { foreignTimeZone, setLocale, shownTimeZone } from "../../../admin/src/text/locale.ts";

const field = (name: string, kind: EntityField["kind"], more: Partial<EntityField> = {}) => ({
  name,
  title: name,
  description: null,
  kind,
  widget: null,
  unit: null,
  unitOne: null,
  currencyField: null,
  values: [],
  reference: null,
  isList: false,
  isNullable: true,
  isInputOnly: false,
  onCreate: "OPTIONAL" as const,
  onUpdate: "OPTIONAL" as const,
  maxLength: null,
  minimum: null,
  maximum: null,
  decimals: null,
  defaultValue: null,
  orderBy: [],
  searchName: null,
  place: null,
  section: null,
  ...more,
});

const fields: [EntityField, unknown][] = [
  [field("name", "TEXT"), " Barolo  Bussia "],
  [field("vintage", "INTEGER"), -2016],
  [field("alcoholPercent", "DECIMAL"), "13.50"],
  [field("isActive", "BOOLEAN", { isNullable: false }), false],
  [field("isOrganic", "BOOLEAN"), null],
  [field("isOrganic", "BOOLEAN"), false],
  [field("from", "DATE"), "2026-02-28"],
  [field("createdAt", "TIME"), "2026-03-29T01:30:00.000Z"],
  [field("status", "ENUM", { values: [{ value: "OPEN", title: "Open", tone: null }] }), "OPEN"],
  [field("wineTypeId", "REFERENCE"), "0197"],
  [field("details", "JSON"), { a: [1, null, "x"] }],
  [field("score", "FLOAT"), 4.25],
  [field("labels", "TEXT", { isList: true }), ["organic", "dry wine"]],
  [field("years", "INTEGER", { isList: true }), [2015, 2016]],
];

const int = field("vintage", "INTEGER", { minimum: "-2147483648", maximum: "2147483647" });
const money = field("amount", "DECIMAL", {
  minimum: "-999.99",
  maximum: "999.99",
  decimals: 2,
});

describe("form values", () => {
  test.each(fields)("of kind %j are unchanged after a round trip: %j", (one, value) => {
    expect(toInputValue(one, toFormValue(one, value))).toEqual(value);
  });

  test("that were changed and changed back are not sent", () => {
    const all = fields.map(([one]) => one);
    const row = { id: "7", ...Object.fromEntries(fields.map(([one, v]) => [one.name, v])) };
    const base = toFormValues(all, row);
    expect(dirtyNames(all, base, { ...base })).toEqual([]);
    expect(dirtyNames(all, base, { ...base, name: "Barolo" })).toEqual(["name"]);
  });

  test.each([
    [field("vintage", "INTEGER"), "20 16", "whole number"],
    [field("vintage", "INTEGER"), "99999999999999999999", "between"],
    [field("alcoholPercent", "DECIMAL"), "13,5", "decimal number"],
    [field("details", "JSON"), "{", "JSON"],
    [field("score", "FLOAT"), "four", "A number"],
    [field("at", "TIME"), "yesterday", "date and a time"],
    [field("years", "INTEGER", { isList: true }), "2015\nx", "whole number"],
    [int, "3000000000", "between -2,147,483,648 and 2,147,483,647"],
    [int, "12.5", "whole number"],
    [money, "123456", "between -999.99 and 999.99"],
    [money, "12.505", "At most 2 decimal places"],
    [field("date", "DATE"), "2026-02-30", "A date that exists"],
    [field("dates", "DATE", { isList: true }), "2026-02-28\n2026-13-01", "A date that exists"],
    [field("name", "TEXT", { maxLength: 3 }), "Barolo", "At most 3 characters; these are 6"],
    [field("email", "TEXT", { widget: "email" }), "anna at example.com", "An e-mail address"],
  ])("that are invalid for their kind are rejected with a message: %j %j", (one, text, words) => {
    expect(() => toInputValue(one, text)).toThrow(ValueError);
    expect(() => toInputValue(one, text)).toThrow(words);
  });

  test.each([
    [int, "2147483647", 2147483647],
    [int, "-2147483648", -2147483648],
    [money, "999.99", "999.99"],
    [money, "0.500", "0.500"],
    // Code points are counted, as in the database.
    [field("name", "TEXT", { maxLength: 3 }), "🍷🍷🍷", "🍷🍷🍷"],
    [field("email", "TEXT", { widget: "email" }), "anna@example.com", "anna@example.com"],
    [field("date", "DATE"), "2028-02-29", "2028-02-29"],
  ])("at the bounds of their field are sent: %j %j", (one, text, sent) => {
    expect(toInputValue(one, text)).toBe(sent);
  });

  test("of a new row are the defaults of the table", () => {
    const all = [
      field("isActive", "BOOLEAN", { isNullable: false, defaultValue: "true" }),
      field("level", "ENUM", { defaultValue: "ADVANCED" }),
      field("name", "TEXT"),
    ];
    expect(defaultValues(all)).toEqual({ isActive: true, level: "ADVANCED", name: "" });
  });

  test("have a unit of one or of several", () => {
    const stock = field("stock", "INTEGER", { unit: "bottles", unitOne: "bottle" });
    expect([0, 1, 2, null].map((value) => formatWithUnit(stock, value))).toEqual([
      "0 bottles",
      "1 bottle",
      "2 bottles",
      "—",
    ]);
  });

  test("of a time of day omit seconds that are zero, as lists do", () => {
    const clock = field("doorsAt", "CLOCK");
    expect(toFormValue(clock, "18:30:00.000000")).toBe("18:30");
    expect(toFormValue(clock, "18:30:15.000000")).toBe("18:30:15");
    expect(formatValue(clock, "18:30:00.000000")).toBe("18:30");
    expect(formatValue(clock, "18:30:15.000000")).toBe("18:30:15");
    expect(formatValue(clock, "18:30:15.5")).toBe("18:30:15.5");
  });

  test("of a list of rows are their keys", () => {
    const reference = {
      entity: "permissions",
      titleOne: "Permission",
      field: "permissions",
      keyField: "key",
      nameField: "key",
      detailField: null,
      colorField: null,
      choices: null,
    };
    const keys = field("permissionKeys", "REFERENCE", {
      isList: true,
      isInputOnly: true,
      reference,
    });
    const row = {
      id: "7",
      permissions: [
        { id: "1", key: "users.read" },
        { id: "2", key: "ai.use" },
      ],
    };
    const { permissionKeys = "" } = toFormValues([keys], row);
    expect(toInputValue(keys, permissionKeys)).toEqual(["users.read", "ai.use"]);
  });

  test("of a reference in the history are its id", () => {
    expect(toFormValue(field("wineTypeId", "REFERENCE"), { id: "7", name: "Red" })).toBe("7");
  });
});

describe("values in the locale of the user", () => {
  const price = field("price", "DECIMAL");
  afterEach(() => setLocale("en-GB", "UTC"));

  test.each([
    ["en-GB", "12,345,678,901,234,567.50", "13 Mar 2027"],
    ["da-DK", "12.345.678.901.234.567,50", "13. mar. 2027"],
    ["en-US", "12,345,678,901,234,567.50", "Mar 13, 2027"],
  ])("are written as in %s", (locale, decimal, date) => {
    setLocale(locale, "UTC");
    expect(formatValue(price, "12345678901234567.50")).toBe(decimal);
    expect(formatValue(field("from", "DATE"), "2027-03-13")).toBe(date);
  });

  test("accept the locale's decimal comma, and always a point", () => {
    setLocale("da-DK", "UTC");
    expect(toInputValue(price, "12,50")).toBe("12.50");
    expect(toInputValue(price, "12.50")).toBe("12.50");
    expect(toInputValue(field("score", "FLOAT"), "4,25")).toBe(4.25);
  });

  test("are edited with the locale's decimal separator", () => {
    setLocale("da-DK", "UTC");
    const text = toFormValue(price, "1234.50");
    expect(text).toBe("1234,50");
    expect(toInputValue(price, text)).toBe("1234.50");
    expect(toFormValue(field("score", "FLOAT"), 4.25)).toBe("4,25");
  });

  test.each([
    ["en-GB", "1,234.50"],
    ["da-DK", "1.234,50"],
  ])("have all decimal places of an amount, as in %s", (locale, text) => {
    setLocale(locale, "UTC");
    // As in a history, which has JSON numbers.
    expect(formatValue({ ...price, decimals: 2 }, 1234.5)).toBe(text);
  });

  test("have all digits of a bigint", () => {
    expect(formatValue(field("size", "INTEGER"), "9007199254740993")).toBe("9,007,199,254,740,993");
  });

  test("accept the locale's group separators beside decimals", () => {
    setLocale("da-DK", "UTC");
    expect(toInputValue(price, "12.345.678,50")).toBe("12345678.50");
    expect(toInputValue(price, "-1.234,5")).toBe("-1234.5");
    setLocale("en-GB", "UTC");
    expect(toInputValue(price, "12,345,678.50")).toBe("12345678.50");
  });

  test.each([
    ["da-DK", "1.23,50"],
    ["da-DK", "0.750,5"],
    ["da-DK", "1,234.50"],
    ["en-GB", "0,750"],
    ["en-GB", "1,234"],
    ["en-GB", "1.234,50"],
  ])("reject ambiguous separators: %s %s", (locale, text) => {
    setLocale(locale, "UTC");
    expect(() => toInputValue(price, text)).toThrow(ValueError);
  });
});

describe("times in the time zone of the user", () => {
  const at = field("at", "TIME");
  afterEach(() => setLocale("en-GB", "UTC"));

  test.each([
    ["Europe/Copenhagen", "2027-07-01T10:15:00.000Z", "1 Jul 2027, 12:15", "2027-07-01T12:15"],
    ["Europe/Copenhagen", "2027-01-01T10:15:30.000Z", "1 Jan 2027, 11:15", "2027-01-01T11:15:30"],
    ["America/New_York", "2027-01-01T02:00:00.000Z", "31 Dec 2026, 21:00", "2026-12-31T21:00"],
  ])("are shown and edited as in %s: %s", (zone, time, shown, edited) => {
    setLocale("en-GB", zone);
    expect(formatValue(at, time)).toBe(shown);
    expect(toFormValue(at, time)).toBe(edited);
    expect(toInputValue(at, edited)).toBe(time);
  });

  test("that the clocks leave out are an hour later", () => {
    setLocale("en-GB", "Europe/Copenhagen");
    expect(toInputValue(at, "2027-03-28T02:30")).toBe("2027-03-28T01:30:00.000Z");
  });

  test("are in the time zone of the browser when it does not know that of the user", () => {
    setLocale("en-GB", "Mars/Olympus_Mons");
    expect(shownTimeZone()).toBe(new Intl.DateTimeFormat().resolvedOptions().timeZone);
    expect(foreignTimeZone()).toBeNull();
  });
});

test("the form of a new row has no value for an optional boolean without a default", () => {
  const optional = field("isPublic", "BOOLEAN");
  const required = field("isActive", "BOOLEAN", { isNullable: false });
  const withDefault = field("isListed", "BOOLEAN", { defaultValue: "true" });
  expect(defaultValues([optional, required, withDefault])).toEqual({
    isPublic: "",
    isActive: false,
    isListed: "true",
  });
});

test("the form of a new row shows a default of JSON as it is sent", () => {
  const settings = field("settings", "JSON", { defaultValue: '{"a": [1]}' });
  const { settings: text } = defaultValues([settings]);
  expect(toInputValue(settings, text ?? "")).toEqual({ a: [1] });
});

test.each([
  ["4", true],
  ["0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a", true],
  ["Barolo", false],
])("a reference to a row with an id takes a UUID or a number: %s", (text, isKey) => {
  const reference = { keyField: "id" } as EntityField["reference"];
  expect(isRowKey(field("eventId", "REFERENCE", { reference }), text)).toBe(isKey);
});

describe("the date of an editor in words", () => {
  afterEach(() => setLocale("en-GB", "Europe/Copenhagen"));

  test.each([
    ["en-GB", "DATE", "2026-12-03", "Thursday 3 December 2026"],
    ["da-DK", "DATE", "2026-12-03", "torsdag den 3. december 2026"],
    ["en-GB", "TIME", "2026-12-03T19:00", "Thursday 3 December 2026 at 19:00"],
    // The clock skips this hour.
    ["en-GB", "TIME", "2026-03-29T02:30", "Sunday 29 March 2026 at 03:30"],
  ] as const)("in %s, of the kind %s, for %s", (locale, kind, value, words) => {
    setLocale(locale, "Europe/Copenhagen");
    // Versions of ICU differ in the comma after the weekday and in the kinds of spaces.
    const shown = dateInWords(field("on", kind), value);
    expect(shown?.replaceAll(",", "").replace(/\s/g, " ")).toBe(words);
  });

  test.each([
    ["an empty value", field("on", "DATE"), ""],
    ["a date that does not exist", field("on", "DATE"), "2026-02-30"],
    ["a text that is no time", field("at", "TIME"), "soon"],
    ["several dates", field("on", "DATE", { isList: true }), "2026-12-03"],
    ["a text", field("name", "TEXT"), "2026-12-03"],
    ["a time of day", field("at", "CLOCK"), "18:30"],
  ])("is null for %s", (_what, of, value) => {
    expect(dateInWords(of, value)).toBeNull();
  });
});
