import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Calls, startCalls } from "../helpers/http/campaignCalls.ts";

let calls: Calls;

beforeAll(async () => {
  calls = await startCalls();
});
afterAll(async () => {
  await calls.service.stop();
});

describe("e-mail addresses", () => {
  const invite = (email: unknown) =>
    calls.service.ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }`,
      {
        token: calls.token,
        variables: { input: { email, roleId: calls.roleId } },
      },
    );

  test.each([
    "",
    " ",
    "anna",
    "anna@",
    "@example.com",
    "anna@example",
    "anna@@example.com",
    "an na@example.com",
    "anna@example..com",
    "anna@.example.com",
    "anna..smith@example.com",
    ".anna@example.com",
    "anna.@example.com",
    "anna@example.com, ben@example.com",
    "<anna@example.com>",
    "anna@exam\u200bple.com",
    "anna@example.com\u202e",
    `${"a".repeat(300)}@example.com`,
    null,
  ])("cannot be %p", async (email) => {
    await calls.expectRefusal(() => invite(email), /email/, ["input", "email"]);
  });

  test("are the same in another case", async () => {
    await calls.service.login([], "Dora@Example.com");
    await calls.expectRefusal(
      () => invite("dORA@eXAMPLE.COM"),
      /exists already|active user|e-mail/i,
      ["input", "email"],
      "CONFLICT",
    );
  });
});

describe("lists of permission keys", () => {
  const makeRole = (permissionKeys: unknown) =>
    calls.service.ask(`mutation ($input: CreateRoleInput!) { createRole(input: $input) { id } }`, {
      token: calls.token,
      variables: { input: { name: `Role ${randomUUID()}`, permissionKeys } },
    });
  test("are rejected with unknown keys named, in a bounded message", async () => {
    await calls.expectRefusal(() => makeRole(["users.read", "wine.drink"]), /wine\.drink/, [
      "input",
      "permissionKeys",
    ]);
    await calls.expectRefusal(
      () => makeRole(Array.from({ length: 20_000 }, (_v, index) => `wine.drink${index}`)),
      /wine\.drink/,
      ["input", "permissionKeys"],
    );
  });
  test.each([
    [["users.read", null]],
    [[["users.read"]]],
    ["__proto__"],
    [{ 0: "users.read" }],
    [7],
    [null],
  ])("cannot be %j", async (keys) => {
    const answer = await makeRole(keys);
    expect(answer.errors?.[0]?.extensions).toMatchObject({ code: "BAD_USER_INPUT" });
    expect((answer.errors?.[0]?.extensions.path as unknown[]).slice(0, 2)).toEqual([
      "input",
      "permissionKeys",
    ]);
  });
});
