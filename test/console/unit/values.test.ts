import { describe, expect, test } from "@jest/globals";
import {
  ValueError,
  dirtyNames,
  toFormValue,
  toFormValues,
  toInputValue,
} from "../../../admin/src/generic/record/values.ts";
import type { EntityField } from "../../../admin/src/meta/catalogue.ts";

const field = (name: string, kind: EntityField["kind"], more: Partial<EntityField> = {}) => ({
  name,
  title: name,
  description: null,
  kind,
  widget: null,
  unit: null,
  values: [],
  reference: null,
  isList: false,
  isNullable: true,
  isInputOnly: false,
  onCreate: "OPTIONAL" as const,
  onUpdate: "OPTIONAL" as const,
  maxLength: null,
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
  [field("status", "ENUM"), "OPEN"],
  [field("wineTypeId", "REFERENCE"), "0197"],
  [field("details", "JSON"), { a: [1, null, "x"] }],
  [field("labels", "TEXT", { isList: true }), ["organic", "dry wine"]],
  [field("years", "INTEGER", { isList: true }), [2015, 2016]],
];

describe("values of a form", () => {
  test.each(fields)("of kind %j come back as they were: %j", (one, value) => {
    expect(toInputValue(one, toFormValue(one, value))).toEqual(value);
  });

  test("that were touched and put back are not sent", () => {
    const all = fields.map(([one]) => one);
    const base = toFormValues(all, Object.fromEntries(fields.map(([one, v]) => [one.name, v])));
    expect(dirtyNames(all, base, { ...base })).toEqual([]);
    expect(dirtyNames(all, base, { ...base, name: "Barolo" })).toEqual(["name"]);
  });

  test.each([
    [field("vintage", "INTEGER"), "20 16", "whole number"],
    [field("vintage", "INTEGER"), "99999999999999999999", "between"],
    [field("alcoholPercent", "DECIMAL"), "13,5", "decimal number"],
    [field("details", "JSON"), "{", "JSON"],
    [field("at", "TIME"), "yesterday", "date and a time"],
    [field("years", "INTEGER", { isList: true }), "2015\nx", "whole number"],
  ])("that their kind does not allow are refused in words: %j %j", (one, text, words) => {
    expect(() => toInputValue(one, text)).toThrow(ValueError);
    expect(() => toInputValue(one, text)).toThrow(words);
  });

  test("of a reference as the history tells it are its id", () => {
    expect(toFormValue(field("wineTypeId", "REFERENCE"), { id: "7", name: "Red" })).toBe("7");
  });
});
