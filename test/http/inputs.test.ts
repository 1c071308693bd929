import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type Service, startService } from "../helpers/service.ts";

const create = `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id title note scheduledAt vintage } }`;

let service: Service;
let token: string;
let userId: string;
let roleId: string;
let campaignId: string;

beforeAll(async () => {
  service = await startService();
  ({ token, userId, roleId } = await service.login([
    "campaigns.create",
    "campaigns.read",
    "campaigns.update",
    "campaigns.delete",
    "users.read",
    "roles.create",
    "roles.read",
    "invitations.create",
  ]));
  campaignId = (await createWith({})).data.createCampaign.id as string;
});
afterAll(async () => {
  await service.stop();
});

const input = () => ({
  title: "Autumn",
  price: "9,90 €",
  medium: "EMAIL",
  scheduledAt: "2026-09-01T08:00:00Z",
  authorUserId: userId,
});
const createWith = (changes: Record<string, unknown>) =>
  service.ask(create, { token, variables: { input: { ...input(), ...changes } } });

/** All that requests could have changed. */
async function state(): Promise<unknown> {
  const { rows } = await service.database.pool.query(
    `select (select count(*) from campaigns) c, (select count(*) from users) u, (select count(*) from roles) r,
       (select count(*) from invitations) i, (select count(*) from audit_log where operation <> 'READ') a`,
  );
  return rows[0];
}

/** Expects an input error of this field, and that nothing changed. */
async function expectRefusal(
  ask: () => Promise<Answer>,
  field: RegExp,
  path: unknown[],
  code = "BAD_USER_INPUT",
) {
  const before = await state();
  const answer = await ask();
  expect(answer.status).toBe(200);
  expect(answer.data ?? null).toEqual(answer.data ? expect.objectContaining({}) : null);
  expect(answer.errors?.[0]).toMatchObject({
    message: expect.stringMatching(field),
    extensions: { code, path, correlationId: expect.any(String) },
  });
  const text = JSON.stringify(answer);
  expect(text.length).toBeLessThan(5_000);
  expect(text).not.toMatch(
    /select |insert into|backoffice\.|node_modules|violates|relation "|\.ts:|::/,
  );
  expect(await state()).toEqual(before);
}

describe("an id", () => {
  const bad: [string, unknown][] = [
    ["malformed", "not-a-uuid"],
    ["empty", ""],
    ["with spaces", ` ${randomUUID()}`],
    ["in braces", `{${randomUUID()}}`],
    ["a number", 7],
    ["a list", [randomUUID()]],
    ["an object", { id: randomUUID() }],
    ["true", true],
    ["null", null],
    ["of 100,000 characters", "a".repeat(100_000)],
    ["with SQL", "' or 1=1 --"],
  ];
  test.each(bad)("that is %s is refused by the name of its variable", async (_name, id) => {
    await expectRefusal(
      () =>
        service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, { token, variables: { id } }),
      /\$id|"id"/,
      ["id"],
    );
  });
  test.each(bad.slice(0, 7))(
    "within an input that is %s is refused by the name of its field",
    async (_name, productId) => {
      await expectRefusal(() => createWith({ productId }), /productId/, ["input", "productId"]);
    },
  );
  test("that is missing is refused by its name", async () => {
    await expectRefusal(
      () => service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, { token }),
      /\$id/,
      ["id"],
    );
  });
  test("that is malformed in the document is refused by its argument", async () => {
    await expectRefusal(() => service.ask(`{ campaign(id: "x") { id } }`, { token }), /^id: /, [
      "id",
    ]);
  });
  test("of a thing of another type finds nothing", async () => {
    for (const id of [userId, roleId, randomUUID()]) {
      const answer = await service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, {
        token,
        variables: { id },
      });
      expect(answer).toMatchObject({ data: { campaign: null } });
      expect(answer.errors).toBeUndefined();
    }
    await expectRefusal(() => createWith({ productId: userId }), /^productId/, [
      "input",
      "productId",
    ]);
    await expectRefusal(() => createWith({ authorUserId: campaignId }), /^authorUserId/, [
      "input",
      "authorUserId",
    ]);
    await expectRefusal(
      () =>
        service.ask(`mutation ($id: ID!) { deleteCampaign(id: $id) }`, {
          token,
          variables: { id: userId },
        }),
      /campaign/,
      ["id"],
      "NOT_FOUND",
    );
  });
  test("in capitals is the same id", async () => {
    const answer = await service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, {
      token,
      variables: { id: campaignId.toUpperCase() },
    });
    expect(answer.data.campaign.id).toBe(campaignId);
  });
});

describe("a DateTime", () => {
  test.each([
    "2026-02-30T00:00:00Z",
    "2025-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-10T00:00:00Z",
    "2026-01-01T24:00:00Z",
    "2026-01-01T12:60:00Z",
    "2026-01-01T12:00:60Z",
    "2026-02-30",
    "2026-01-31",
    "2026-01-31T12:00:00",
    "2026-01-31 12:00:00Z",
    "2026-01-31T12:00:00+2500",
    "2026-01-31T12:00:00+25:00",
    "infinity",
    "-infinity",
    "tomorrow",
    "now",
    "epoch",
    "today 12:00",
    "300000-01-01T00:00:00Z",
    "+300000-01-01T00:00:00Z",
    "-0044-03-15T00:00:00Z",
    "",
    " ",
    1_767_225_600,
    true,
    null,
    ["2026-01-31T12:00:00Z"],
    {},
  ])("may not be %p", async (scheduledAt) => {
    await expectRefusal(() => createWith({ scheduledAt }), /scheduledAt/, ["input", "scheduledAt"]);
  });
  test.each([
    ["2026-01-31T12:34:56.789Z", "2026-01-31T12:34:56.789Z"],
    ["2026-01-31T12:34:56Z", "2026-01-31T12:34:56.000Z"],
    ["2024-02-29T23:30:00+02:00", "2024-02-29T21:30:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("may be %s", async (scheduledAt, expected) => {
    const answer = await createWith({ scheduledAt });
    expect(answer.data?.createCampaign.scheduledAt).toBe(expected);
  });
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
    ["authorUserId", null],
  ])("%s may not be %p", async (field, value) => {
    await expectRefusal(() => createWith({ [field]: value }), new RegExp(`\\b${field}\\b`), [
      "input",
      field,
    ]);
  });

  test.each(["title", "price", "medium", "scheduledAt", "authorUserId"])(
    "%s may not be left out",
    async (field) => {
      await expectRefusal(() => createWith({ [field]: undefined }), new RegExp(`\\b${field}\\b`), [
        "input",
        field,
      ]);
    },
  );

  test("may not be of another name", async () => {
    await expectRefusal(() => createWith({ titel: "x" }), /titel/, ["input", "titel"]);
    await expectRefusal(() => createWith({ id: randomUUID() }), /"id"/, ["input", "id"]);
  });

  test("may hold what people write", async () => {
    const answer = await createWith({
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

  test("with megabytes is refused in few words, and quickly", async () => {
    const started = performance.now();
    await expectRefusal(() => createWith({ title: "x".repeat(5_000_000) }), /title/, [
      "input",
      "title",
    ]);
    await expectRefusal(() => createWith({ scheduledAt: "9".repeat(5_000_000) }), /scheduledAt/, [
      "input",
      "scheduledAt",
    ]);
    await expectRefusal(() => createWith({ medium: "E".repeat(5_000_000) }), /medium/, [
      "input",
      "medium",
    ]);
    expect(performance.now() - started).toBeLessThan(5_000);
    const whole = await createWith({ note: "x".repeat(10_000_000) });
    expect(whole).toMatchObject({
      status: 413,
      errors: [{ extensions: { code: "BAD_USER_INPUT" } }],
    });
  });

  test("is named also where the document itself holds the wrong value", async () => {
    const literal = (fields: string) =>
      service.ask(
        `mutation { createCampaign(input: { ${fields}, title: "x", price: "1", authorUserId: "${userId}" }) { id } }`,
        { token },
      );
    await expectRefusal(
      () => literal(`medium: email, scheduledAt: "2026-09-01T08:00:00Z"`),
      /medium/,
      ["input", "medium"],
    );
    await expectRefusal(() => literal(`medium: EMAIL, scheduledAt: "tomorrow"`), /scheduledAt/, [
      "input",
      "scheduledAt",
    ]);
    await expectRefusal(
      () => literal(`medium: EMAIL, scheduledAt: "2026-09-01T08:00:00Z", vintage: "2019"`),
      /vintage/,
      ["input", "vintage"],
    );
  });
});

describe("addresses of people", () => {
  const invite = (email: unknown) =>
    service.ask(
      `mutation ($input: CreateInvitationInput!) { createInvitation(input: $input) { id } }`,
      {
        token,
        variables: { input: { email, roleId } },
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
    "anna@example.com, ben@example.com",
    "<anna@example.com>",
    "anna@exam\u200bple.com",
    "anna@example.com\u202e",
    `${"a".repeat(300)}@example.com`,
    null,
  ])("may not be %p", async (email) => {
    await expectRefusal(() => invite(email), /email/, ["input", "email"]);
  });

  test("are the same in another case", async () => {
    await service.login([], "Dora@Example.com");
    await expectRefusal(
      () => invite("dORA@eXAMPLE.COM"),
      /exists already|active user|e-mail/i,
      ["input", "email"],
      "CONFLICT",
    );
  });
});

describe("lists of keys", () => {
  const makeRole = (permissionKeys: unknown) =>
    service.ask(`mutation ($input: CreateRoleInput!) { createRole(input: $input) { id } }`, {
      token,
      variables: { input: { name: `Role ${randomUUID()}`, permissionKeys } },
    });
  test("name what is unknown, in few words however many there are", async () => {
    await expectRefusal(() => makeRole(["users.read", "wine.drink"]), /wine\.drink/, [
      "input",
      "permissionKeys",
    ]);
    await expectRefusal(
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
  ])("may not be %j", async (keys) => {
    const answer = await makeRole(keys);
    expect(answer.errors?.[0]?.extensions).toMatchObject({ code: "BAD_USER_INPUT" });
    expect((answer.errors?.[0]?.extensions.path as unknown[]).slice(0, 2)).toEqual([
      "input",
      "permissionKeys",
    ]);
  });
});
