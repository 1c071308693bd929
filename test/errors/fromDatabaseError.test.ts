import { expect, test } from "@jest/globals";
import { DatabaseError } from "pg";
import type { Constraint } from "../../src/errors/constraints.ts";
import { fromDatabaseError } from "../../src/errors/fromDatabaseError.ts";

const rule = (
  fields: string[],
  message: string | null,
  more: Partial<Constraint> = {},
): Constraint => ({
  ...{ fields, message, target: null, referrer: null, isOfDomain: false },
  ...more,
});
const constraints = new Map([
  ["one", rule(["name"], "must not be empty", { target: "wine type" })],
  ["ratings_fkey", rule(["reviewerId"], null, { referrer: "product ratings" })],
  ["two", rule(["startsAt", "endsAt"], "must be in order")],
  ["points", rule(["score"], "must be 1 to 100", { isOfDomain: true })],
  ["percent", rule(["fee", "tax"], "must be 0 to 100", { isOfDomain: true })],
]);

function answerTo(fields: Partial<DatabaseError>, inTestRun = false) {
  const { message = "failed", ...rest } = fields;
  const error = Object.assign(new DatabaseError(message, 1, "error"), {
    severity: "ERROR",
    ...rest,
  });
  const answer = fromDatabaseError(error, { constraints, inTestRun });
  return answer && { code: answer.code, message: answer.message, details: answer.details };
}

test("an error that SQL raises keeps its message and details", () => {
  expect(
    answerTo({ code: "OF404", message: "There is no wine", detail: '{"path":["id"]}' }),
  ).toEqual({ code: "NOT_FOUND", message: "There is no wine", details: { path: ["id"] } });
});

test("an error that SQL raises can name a more specific code", () => {
  expect(answerTo({ code: "OF409", detail: '{"code":"SYSTEM_ROLE"}' })?.code).toBe("SYSTEM_ROLE");
});

test("a code outside the list is replaced by the code of the SQLSTATE", () => {
  expect(answerTo({ code: "OF409", detail: '{"code":"MADE_UP"}' })?.code).toBe("CONFLICT");
});

test("a constraint of one column names its argument", () => {
  expect(answerTo({ code: "23514", constraint: "one" })).toEqual({
    code: "BAD_USER_INPUT",
    message: "name must not be empty",
    details: { path: ["input", "name"] },
  });
});

test("a constraint of several columns names its fields", () => {
  expect(answerTo({ code: "23514", constraint: "two" })).toEqual({
    code: "BAD_USER_INPUT",
    message: "startsAt, endsAt must be in order",
    details: { fields: ["startsAt", "endsAt"] },
  });
});

test("a domain of one column names its argument", () => {
  expect(answerTo({ code: "23514", constraint: "points" })).toEqual({
    code: "BAD_USER_INPUT",
    message: "score must be 1 to 100",
    details: { path: ["input", "score"] },
  });
});

test("a domain of several columns names the one or the other", () => {
  expect(answerTo({ code: "23514", constraint: "percent" })).toEqual({
    code: "BAD_USER_INPUT",
    message: "fee or tax must be 0 to 100",
    details: {},
  });
});

test("a row that no policy accepts is an error of the service", () => {
  const message = 'new row violates row-level security policy for table "products"';
  expect(answerTo({ code: "42501", message })).toBeNull();
});

test("a foreign key names the missing row", () => {
  expect(answerTo({ code: "23503", constraint: "one" })).toEqual({
    code: "BAD_USER_INPUT",
    message: "name: there is no wine type with this id",
    details: { path: ["input", "name"] },
  });
});

test("a referenced row is a conflict", () => {
  const answer = answerTo({
    code: "23503",
    detail: 'Key is still referenced from table "orders".',
  });
  expect(answer).toMatchObject({ code: "CONFLICT", message: "Other rows still refer to this one" });
});

test.each(["23001", "23503"])("a referenced row names the other rows, for the code %s", (code) => {
  const detail = 'Key is still referenced from table "product_ratings".';
  expect(answerTo({ code, constraint: "ratings_fkey", detail })).toEqual({
    code: "CONFLICT",
    message: "Other rows still refer to this one: product ratings",
    details: {},
  });
});

test("an unknown constraint has a general message", () => {
  expect(answerTo({ code: "23505", constraint: "three" })).toEqual({
    code: "CONFLICT",
    message: "A row with these values exists already",
    details: {},
  });
});

test("a missing value names its column by the API's name", () => {
  expect(answerTo({ code: "23502", column: "created_at" })).toMatchObject({
    message: "createdAt is required",
    details: { path: ["input", "createdAt"] },
  });
});

test("a full disk is an outage", () => {
  expect(answerTo({ code: "53100" })).toMatchObject({
    code: "UNAVAILABLE",
    message: "The database has no disk space left: try again later",
  });
});

test("a broken connection is an outage", () => {
  const error = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  expect(fromDatabaseError(error, { constraints })?.code).toBe("UNAVAILABLE");
});

test("a dropped schema is a conflict within a test run", () => {
  expect(answerTo({ code: "3F000" }, true)?.code).toBe("CONFLICT");
});

test.each(["3F000", "42703", "XX000"])("SQLSTATE %s is internal", (code) => {
  expect(answerTo({ code })).toBeNull();
});

test("an error of another kind is not mapped", () => {
  expect(fromDatabaseError(new TypeError("failed"), { constraints })).toBeNull();
});
