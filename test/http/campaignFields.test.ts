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

describe("a field of a campaign", () => {
  test.each([
    ["price", ""],
    ["price", "   "],
    ["price", "x".repeat(65)],
    ["price", "1\u200b0"],
    ["price", 10],
    ["price", null],
    ["vintage", 99_999],
    ["vintage", -1],
    ["vintage", 1e20],
    ["vintage", 2019.5],
    ["vintage", "2019"],
    ["color", "red"],
    ["color", "#12345"],
    ["color", "#GGGGGG"],
    ["color", "#1234567"],
    ["color", ""],
    ["color", 0x123456],
    ["medium", "email"],
    ["medium", "Email"],
    ["medium", "FAX"],
    ["medium", ""],
    ["medium", null],
    ["medium", "__proto__"],
    ["status", "active"],
    ["status", "constructor"],
    ["title", ""],
    ["title", "  \t "],
    ["title", "\u3000\u00a0"],
    ["title", "\u3164\u2800"],
    ["title", "Bor\u0000deaux"],
    ["title", "Bordeaux\ud83d"],
    ["title", "x".repeat(301)],
    ["title", "Bor\u200bdeaux"],
    ["title", "\u202eevil"],
    ["title", "a\u0007b"],
    ["title", "a\nb"],
    ["title", "\ufeffTitle"],
    ["title", null],
    ["title", ["a"]],
    ["note", "x".repeat(20_001)],
    ["note", { a: 1 }],
    ["note", "a\u0000"],
    ["authorUserId", null],
  ])("%s cannot be %p", async (field, value) => {
    await calls.expectRefusal(
      () => calls.createWith({ [field]: value }),
      new RegExp(`\\b${field}\\b`),
      ["input", field],
    );
  });

  test.each(["title", "price", "medium", "scheduledAt", "authorUserId"])(
    "%s is required",
    async (field) => {
      await calls.expectRefusal(
        () => calls.createWith({ [field]: undefined }),
        new RegExp(`\\b${field}\\b`),
        ["input", field],
      );
    },
  );

  test("is rejected under an unknown name", async () => {
    await calls.expectRefusal(() => calls.createWith({ titel: "x" }), /titel/, ["input", "titel"]);
    await calls.expectRefusal(() => calls.createWith({ id: randomUUID() }), /"id"/, [
      "input",
      "id",
    ]);
  });

  test("accepts ordinary text", async () => {
    const answer = await calls.createWith({
      title: "  Été à l'Œuvre – 10 % 🍷 \u05e9\u05dc\u05d5\u05dd  ",
      note: "a\n\tb",
      vintage: 1961,
    });
    expect(answer.data?.createCampaign).toMatchObject({
      title: "Été à l'Œuvre – 10 % 🍷 \u05e9\u05dc\u05d5\u05dd",
      note: "a\n\tb",
      vintage: 1961,
    });
  });

  test("with megabytes of text is rejected quickly, with a short message", async () => {
    const started = performance.now();
    await calls.expectRefusal(() => calls.createWith({ title: "x".repeat(5_000_000) }), /title/, [
      "input",
      "title",
    ]);
    await calls.expectRefusal(
      () => calls.createWith({ scheduledAt: "9".repeat(5_000_000) }),
      /scheduledAt/,
      ["input", "scheduledAt"],
    );
    await calls.expectRefusal(() => calls.createWith({ medium: "E".repeat(5_000_000) }), /medium/, [
      "input",
      "medium",
    ]);
    expect(performance.now() - started).toBeLessThan(60_000);
    const whole = await calls.createWith({ note: "x".repeat(10_000_000) });
    expect(whole).toMatchObject({
      status: 413,
      errors: [{ extensions: { code: "BAD_USER_INPUT" } }],
    });
  });

  test("is named by its argument for any name and place of the variable", async () => {
    const { service, token, userId } = calls;
    const ask = (query: string, variables: object) => () =>
      service.ask(query, { token, variables: { ...variables } });
    const whole = "mutation ($c: CreateCampaignInput!) { createCampaign(input: $c) { id } }";
    const part = `mutation ($t: String!, $w: DateTime!) { ...F }
      fragment F on Mutation { createCampaign(input: { title: $t, price: "1", medium: EMAIL, scheduledAt: $w, authorUserId: "${userId}" }) { id } }`;
    const list =
      'mutation ($k: String!) { createRole(input: { name: "R", permissionKeys: [$k] }) { id } }';
    const parts = { title: "Autumn", price: "1", medium: "EMAIL", authorUserId: userId };
    for (const scheduledAt of ["tomorrow", "2026-09-01T08:00:00Z\u0000"])
      await calls.expectRefusal(ask(whole, { c: { ...parts, scheduledAt } }), /scheduledAt/, [
        "input",
        "scheduledAt",
      ]);
    await calls.expectRefusal(ask(whole, {}), /\$c/, ["input"]);
    await calls.expectRefusal(ask(list, { k: "a\u0000" }), /permissionKeys/, [
      "input",
      "permissionKeys",
      0,
    ]);
    await calls.expectRefusal(ask(list, { k: "\udc00" }), /permissionKeys/, [
      "input",
      "permissionKeys",
      0,
    ]);
    await calls.expectRefusal(ask(list, { k: 7 }), /\$k/, ["input", "permissionKeys", 0]);
    const w = "2026-09-01T08:00:00Z";
    await calls.expectRefusal(ask(part, { t: "a\u0000", w }), /title/, ["input", "title"]);
    await calls.expectRefusal(ask(part, { t: "a", w: "tomorrow" }), /\$w/, [
      "input",
      "scheduledAt",
    ]);
    // A variable that belongs to no argument is reported by its own name.
    await calls.expectRefusal(ask(part, { t: "a", w, x: { "a\u0000": 1 } }), /A key of x holds/, [
      "x",
    ]);
    const unnamed = await ask(part, { t: "a", w, "a\u0000": 1 })();
    expect(unnamed).toMatchObject({
      status: 200,
      errors: [{ message: expect.stringMatching(/^A key of variables holds/) }],
    });
  });

  test("is named when the invalid value is a literal", async () => {
    const literal = (fields: string) =>
      calls.service.ask(
        `mutation { createCampaign(input: { ${fields}, title: "x", price: "1", authorUserId: "${calls.userId}" }) { id } }`,
        { token: calls.token },
      );
    await calls.expectRefusal(
      () => literal(`medium: email, scheduledAt: "2026-09-01T08:00:00Z"`),
      /medium/,
      ["input", "medium"],
    );
    await calls.expectRefusal(
      () => literal(`medium: EMAIL, scheduledAt: "tomorrow"`),
      /scheduledAt/,
      ["input", "scheduledAt"],
    );
    await calls.expectRefusal(
      () => literal(`medium: EMAIL, scheduledAt: "2026-09-01T08:00:00Z", vintage: "2019"`),
      /vintage/,
      ["input", "vintage"],
    );
  });
});
