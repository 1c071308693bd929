import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let staff: { token: string; userId: string };
let productId: string;

const fields = `id title vintage color note price medium status scheduledAt product { id name } author { id email }`;
const create = `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { ${fields} } }`;
const update = `mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { ${fields} } }`;

beforeAll(async () => {
  service = await startService();
  staff = await service.login([
    "campaigns.read",
    "campaigns.create",
    "campaigns.update",
    "campaigns.delete",
  ]);
  const { rows } = await service.database.pool.query<{ id: string }>(
    `insert into products (erp_product_number, name, vintage, wine_type_id)
     select '000123', 'Barolo Bussia', 2016, id from wine_types where name = 'Red' returning id`,
  );
  productId = rows[0]?.id ?? "";
});
afterAll(async () => {
  await service.stop();
});
beforeEach(async () => {
  await service.database.pool.query("delete from campaigns; delete from campaign_colors");
});

function input(changes: Record<string, unknown> = {}) {
  return {
    title: "Autumn reds",
    price: "149,-",
    authorUserId: staff.userId,
    medium: "EMAIL",
    scheduledAt: "2026-10-01T08:00:00+02:00",
    ...changes,
  };
}

async function make(changes: Record<string, unknown> = {}) {
  const answer = await service.ask(create, {
    token: staff.token,
    variables: { input: input(changes) },
  });
  expect(answer.errors).toBeUndefined();
  return answer.data.createCampaign;
}

describe("a new campaign", () => {
  test("takes an omitted vintage and colour from its product", async () => {
    expect(await make({ productId })).toMatchObject({
      vintage: 2016,
      color: "#7A0019",
      status: "DRAFT",
      scheduledAt: "2026-10-01T06:00:00.000Z",
      product: { id: productId, name: "Barolo Bussia" },
      author: { id: staff.userId },
    });
  });

  test("keeps explicit values and an explicit null", async () => {
    expect(await make({ productId, vintage: null, color: null })).toMatchObject({
      vintage: null,
      color: null,
    });
    expect(await make({ productId, vintage: 1999, color: "#00ff7f" })).toMatchObject({
      vintage: 1999,
      color: "#00FF7F",
    });
  });

  test("may have no product, and shows its author's name with campaigns.read alone", async () => {
    expect(await make({ note: " for regulars " })).toMatchObject({
      product: null,
      vintage: null,
      note: "for regulars",
    });
    const reader = await service.login(["campaigns.read"]);
    const answer = await service.ask(
      `{ campaigns { author { email } product { name } } users { id } }`,
      reader,
    );
    expect(answer.errors?.map((error) => error.message)).toEqual([
      "Missing required permission: users.read",
    ]);
    const alone = await service.ask(`{ campaigns { author { email } } }`, reader);
    expect(alone.data.campaigns[0].author.email).toMatch(/@example\.com$/);
  });

  test.each([
    [{ title: "  " }, ["input", "title"], "title must be 1 to 300 visible characters"],
    [{ price: "x".repeat(65) }, ["input", "price"], "price must be 1 to 64 visible characters"],
    [{ color: "red" }, ["input", "color"], "color must be a colour such as #7A0019"],
    [{ vintage: 99999 }, ["input", "vintage"], "vintage must be a year from 1700 to 2200"],
    [
      { productId: "00000000-0000-4000-8000-000000000000" },
      ["input", "productId"],
      "productId: there is no product with this id",
    ],
    [
      { authorUserId: "00000000-0000-4000-8000-000000000000" },
      ["input", "authorUserId"],
      "authorUserId: there is no user with this id",
    ],
  ])("is rejected with %j", async (changes, path, message) => {
    const answer = await service.ask(create, {
      token: staff.token,
      variables: { input: input(changes) },
    });
    expect(answer.errors?.[0]).toMatchObject({
      message,
      extensions: { code: "BAD_USER_INPUT", path },
    });
    const { rows } = await service.database.pool.query("select from campaigns");
    expect(rows).toHaveLength(0);
  });
});

describe("a campaign", () => {
  test("keeps fields that an update omits, and clears those that are null", async () => {
    const { id } = await make({ productId, note: "first" });
    const retitled = await service.ask(update, {
      token: staff.token,
      variables: { id, input: { title: "Winter reds" } },
    });
    expect(retitled.data.updateCampaign).toMatchObject({
      title: "Winter reds",
      note: "first",
      vintage: 2016,
    });
    const cleared = await service.ask(update, {
      token: staff.token,
      variables: { id, input: { productId: null, note: null, vintage: null } },
    });
    expect(cleared.data.updateCampaign).toMatchObject({
      product: null,
      note: null,
      vintage: null,
      color: "#7A0019",
    });
    const refused = await service.ask(update, {
      token: staff.token,
      variables: { id, input: { title: null } },
    });
    expect(refused.errors?.[0]).toMatchObject({
      message: "title cannot be null",
      extensions: { code: "BAD_USER_INPUT", path: ["input", "title"] },
    });
  });

  test("keeps the time of its last change after an update without changes", async () => {
    const { id } = await make({ productId, note: "first" });
    const changedAt = async (changes: Record<string, unknown>) => {
      const answer = await service.ask(
        `mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { updatedAt } }`,
        { token: staff.token, variables: { id, input: changes } },
      );
      return answer.data.updateCampaign.updatedAt as string;
    };
    const { rows } = await service.database.pool.query<{ created_at: Date }>(
      "select created_at from campaigns where id = $1",
      [id],
    );
    const before = rows[0]?.created_at.toISOString() ?? "";
    for (const changes of [
      { title: " Autumn reds ", note: "first", productId },
      { scheduledAt: "2026-10-01T06:00:00Z", status: "DRAFT" },
      {},
    ])
      expect(await changedAt(changes)).toBe(before);
    expect(Date.parse(await changedAt({ note: null }))).toBeGreaterThan(Date.parse(before));
  });

  test("allows only the declared state transitions", async () => {
    const { id } = await make();
    const to = (status: string) =>
      service.ask(update, { token: staff.token, variables: { id, input: { status } } });
    for (const status of [
      "SCHEDULED",
      "DRAFT",
      "SCHEDULED",
      "ACTIVE",
      "PAUSED",
      "ACTIVE",
      "COMPLETED",
    ])
      expect((await to(status)).data.updateCampaign.status).toBe(status);
    expect((await to("ACTIVE")).errors?.[0]).toMatchObject({
      message: "A campaign cannot go from COMPLETED to ACTIVE",
      extensions: { code: "CONFLICT", from: "COMPLETED", to: "ACTIVE" },
    });
    const edited = await service.ask(update, {
      token: staff.token,
      variables: { id, input: { note: "went well", title: "Done" } },
    });
    expect(edited.data.updateCampaign).toMatchObject({ note: "went well", title: "Done" });
    const refused = await service.ask(update, {
      token: staff.token,
      variables: { id, input: { price: "99,-" } },
    });
    expect(refused.errors?.[0]?.extensions.code).toBe("CONFLICT");
  });

  test("is found by its id until it is deleted", async () => {
    const { id } = await make();
    const read = () =>
      service.ask(`query ($id: ID!) { campaign(id: $id) { title } }`, {
        token: staff.token,
        variables: { id },
      });
    expect((await read()).data.campaign).toEqual({ title: "Autumn reds" });
    const remove = () =>
      service.ask(`mutation ($id: ID!) { deleteCampaign(id: $id) }`, {
        token: staff.token,
        variables: { id },
      });
    expect((await remove()).data.deleteCampaign).toBe(true);
    expect((await read()).data.campaign).toBeNull();
    expect((await remove()).errors?.[0]?.extensions.code).toBe("NOT_FOUND");
  });
});

describe("campaigns", () => {
  test("are listed latest first, and deleted together with their number returned", async () => {
    for (const day of [3, 1, 2])
      await make({ title: `day ${day}`, scheduledAt: `2026-10-0${day}T08:00:00Z` });
    const list = await service.ask(`{ campaigns { title } }`, { token: staff.token });
    expect(list.data.campaigns.map((campaign: { title: string }) => campaign.title)).toEqual([
      "day 3",
      "day 2",
      "day 1",
    ]);
    const gone = await service.ask(`mutation { deleteAllCampaigns }`, { token: staff.token });
    expect(gone.data.deleteAllCampaigns).toBe(3);
    expect(
      (await service.ask(`mutation { deleteAllCampaigns }`, { token: staff.token })).data
        .deleteAllCampaigns,
    ).toBe(0);
  });

  test("keep their colours as suggestions after deletion, last used first", async () => {
    await make({ color: "#111111" });
    await make({ color: "#222222" });
    await make({ color: "#111111" });
    await service.ask(`mutation { deleteAllCampaigns }`, { token: staff.token });
    const answer = await service.ask(`{ campaignColors { color createdAt updatedAt } }`, {
      token: staff.token,
    });
    expect(answer.data.campaignColors.map((color: { color: string }) => color.color)).toEqual([
      "#111111",
      "#222222",
    ]);
  });

  test("count as use of a colour only when the colour is set", async () => {
    const { id } = await make({ color: "#111111" });
    await make({ color: "#222222" });
    const colors = async () =>
      (
        await service.ask(`{ campaignColors { color } }`, { token: staff.token })
      ).data.campaignColors.map(({ color }: { color: string }) => color);
    const change = async (input: object) => {
      const answer = await service.ask(update, { token: staff.token, variables: { id, input } });
      expect(answer.errors).toBeUndefined();
    };
    await change({ note: "Later" });
    expect(await colors()).toEqual(["#222222", "#111111"]);
    await change({ color: "#333333" });
    await change({ color: "#111111" });
    expect(await colors()).toEqual(["#111111", "#333333", "#222222"]);
  });

  test("set a colour without waiting for a concurrent transaction that sets it", async () => {
    await make({ color: "#111111" });
    const colleague = await service.database.pool.connect();
    try {
      await colleague.query("begin");
      await colleague.query(
        "insert into campaigns (title, price, color, author_user_id, medium, scheduled_at) values ('Theirs', '1', '#111111', $1, 'EMAIL', now())",
        [staff.userId],
      );
      expect(await make({ color: "#111111" })).toMatchObject({ color: "#111111" });
    } finally {
      await colleague.query("rollback");
      colleague.release();
    }
  });
});
