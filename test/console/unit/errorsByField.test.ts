import { describe, expect, test } from "@jest/globals";
import { ApiError, type ApiErrorDetail } from "../../../admin/src/api/errors.ts";
import { errorsByField } from "../../../admin/src/generic/record/errorsByField.ts";
import type { EntityField } from "../../../admin/src/meta/entities.ts";

const fields = [
  { name: "startsOn", title: "From" },
  { name: "endsOn", title: "Until" },
  { name: "name", title: "Title" },
  { name: "createdAt", title: "Created" },
] as EntityField[];
const form = fields.filter(({ name }) => name !== "createdAt");

function errorsOf(...details: Partial<ApiErrorDetail>[]) {
  const errors = details.map((detail) => ({
    message: "",
    code: "BAD_USER_INPUT",
    path: [],
    fields: [],
    position: null,
    length: null,
    conflict: null,
    ...detail,
  }));
  const { byField, problem } = errorsByField(new ApiError(errors, "id"), { fields }, form);
  return { byField, problem: problem?.message ?? null };
}

describe("the errors of a response", () => {
  test("of a check over several columns are shown at each field, with titles", () => {
    const message = "From and Until must be in order";
    const fields = ["startsOn", "endsOn"];
    expect(errorsOf({ message: "startsOn, endsOn must be in order", fields })).toEqual({
      byField: { startsOn: message, endsOn: message },
      problem: null,
    });
    const unique = "A row with these values exists already";
    expect(errorsOf({ message: unique, fields: ["name", "startsOn"] })).toEqual({
      byField: { name: unique, startsOn: unique },
      problem: null,
    });
  });

  test("with a path are shown at its field", () => {
    expect(errorsOf({ message: "name is required", path: ["input", "name"] })).toEqual({
      byField: { name: "Title is required" },
      problem: null,
    });
  });

  test("say that a field cannot be empty, not null", () => {
    const errors = errorsOf({ message: "name cannot be null", path: ["input", "name"] });
    expect(errors.byField).toEqual({ name: "Title cannot be empty" });
  });

  test("about fields that the form does not have are shown above it", () => {
    expect(errorsOf({ message: "createdAt must be after startsOn" })).toEqual({
      byField: {},
      problem: "Created must be after From",
    });
  });

  test("keep words that are also names of fields", () => {
    expect(errorsOf({ message: "A row with this name exists before endsOn" })).toEqual({
      byField: {},
      problem: "A row with this name exists before Until",
    });
  });

  test("are all shown", () => {
    expect(
      errorsOf({ message: "name is wrong", path: ["input", "name"] }, { message: "Too many rows" }),
    ).toEqual({ byField: { name: "Title is wrong" }, problem: "Too many rows" });
  });
});
