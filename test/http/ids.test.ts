import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Calls, startCalls } from "../helpers/http/campaignCalls.ts";

let calls: Calls;
let campaignId: string;

beforeAll(async () => {
  calls = await startCalls();
  campaignId = (await calls.createWith({})).data.createCampaign.id as string;
});
afterAll(async () => {
  await calls.service.stop();
});

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
  test.each(bad)("that is %s is rejected with the name of its variable", async (_name, id) => {
    await calls.expectRefusal(
      () =>
        calls.service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, {
          token: calls.token,
          variables: { id },
        }),
      /\$id|"id"/,
      ["id"],
    );
  });
  test.each(bad.slice(0, 7))(
    "in an input that is %s is rejected with the name of its field",
    async (_name, productId) => {
      await calls.expectRefusal(() => calls.createWith({ productId }), /productId/, [
        "input",
        "productId",
      ]);
    },
  );
  test("that is missing is rejected with its name", async () => {
    await calls.expectRefusal(
      () =>
        calls.service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, { token: calls.token }),
      /\$id/,
      ["id"],
    );
  });
  test("that is malformed in the document is rejected with its argument", async () => {
    await calls.expectRefusal(
      () => calls.service.ask(`{ campaign(id: "x") { id } }`, { token: calls.token }),
      /^id: /,
      ["id"],
    );
  });
  test("of a row of another type finds nothing", async () => {
    for (const id of [calls.userId, calls.roleId, randomUUID()]) {
      const answer = await calls.service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, {
        token: calls.token,
        variables: { id },
      });
      expect(answer).toMatchObject({ data: { campaign: null } });
      expect(answer.errors).toBeUndefined();
    }
    await calls.expectRefusal(() => calls.createWith({ productId: calls.userId }), /^productId/, [
      "input",
      "productId",
    ]);
    await calls.expectRefusal(
      () => calls.createWith({ authorUserId: campaignId }),
      /^authorUserId/,
      ["input", "authorUserId"],
    );
    await calls.expectRefusal(
      () =>
        calls.service.ask(`mutation ($id: ID!) { deleteCampaign(id: $id) }`, {
          token: calls.token,
          variables: { id: calls.userId },
        }),
      /campaign/,
      ["id"],
      "NOT_FOUND",
    );
  });
  test("in capitals is the same id", async () => {
    const answer = await calls.service.ask(`query ($id: ID!) { campaign(id: $id) { id } }`, {
      token: calls.token,
      variables: { id: campaignId.toUpperCase() },
    });
    expect(answer.data.campaign.id).toBe(campaignId);
  });
});
