import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { waitForWaiter } from "../helpers/locked.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "warn" } });
});
afterAll(async () => {
  await service.stop();
});

const create =
  "mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id title author { id } } }";
const update =
  "mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { id note } }";
const unknownId = "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a";

type Person = Awaited<ReturnType<Service["login"]>>;

const campaign = (title: string, author: Person, more: object = {}) => ({
  title,
  authorUserId: author.userId,
  medium: "EMAIL",
  price: "1 DKK",
  scheduledAt: "2027-05-01T10:00:00Z",
  ...more,
});

test("concurrent changes of many users keep their own identity and errors", async () => {
  const permissions = ["campaigns.create", "campaigns.read", "users.read"];
  const people = [await service.login(permissions), await service.login(permissions)];
  const stranger = await service.login(["campaigns.read"]);
  const asks = Array.from({ length: 64 }, async (_value, n) => {
    const person = people[n % 2] as Person;
    const title = `At once ${n}`;
    const kind = n % 4 === 3 ? (n % 8 === 3 ? "unknown" : "forbidden") : "fine";
    const input = campaign(title, person, kind === "unknown" ? { productId: unknownId } : {});
    const { token } = kind === "forbidden" ? stranger : person;
    const answer = await service.ask(create, { token, variables: { input } });
    if (kind === "fine")
      expect(answer.data).toMatchObject({
        createCampaign: { title, author: { id: person.userId } },
      });
    else
      expect(answer.errors?.[0]?.extensions.code).toBe(
        kind === "forbidden" ? "FORBIDDEN" : "BAD_USER_INPUT",
      );
    return kind === "fine" ? { title, actor: person.userId } : [];
  });
  const made = (await Promise.all(asks)).flat();
  const { rows } = await service.database.pool.query<{ title: string; actor: string }>(
    `select after ->> 'title' as title, actor_user_id as actor from audit_log
     where entity_type = 'Campaign' and operation = 'CREATE' and after ->> 'title' like 'At once %'`,
  );
  const inOrder = (list: readonly { title: string }[]) =>
    list.toSorted((a, b) => (a.title < b.title ? -1 : 1));
  expect(made).toHaveLength(48);
  expect(inOrder(rows)).toEqual(inOrder(made));
});

test("a change that waits for a lock delays neither reads nor later changes", async () => {
  const { pool } = service.database;
  const person = await service.login(["campaigns.create", "campaigns.read", "campaigns.update"]);
  const { token } = person;
  const ask = (query: string, variables: object) =>
    service.ask(query, { token, variables: { ...variables } });
  const made = await ask(create, { input: campaign("Locked", person) });
  const { id } = made.data.createCampaign;
  const note = (text: string) => ask(update, { id, input: { note: text } });
  // Statements that have run before can share a connection.
  for (const text of ["one", "two", "three"]) expect((await note(text)).errors).toBeUndefined();

  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("select from campaigns where id = $1 for update", [id]);
    let isOver = false;
    const waiting = note("last").finally(() => (isOver = true));
    await waitForWaiter(pool);
    for (let n = 0; n < 20; n++) {
      const [read, change] = await Promise.all([
        ask("query ($id: ID!) { campaign(id: $id) { note } }", { id }),
        ask(create, { input: campaign(`Meanwhile ${n}`, person) }),
      ]);
      expect(read.data).toEqual({ campaign: { note: "three" } });
      expect(change.errors).toBeUndefined();
    }
    expect(isOver).toBe(false);
    await client.query("rollback");
    expect((await waiting).data).toMatchObject({ updateCampaign: { note: "last" } });
  } finally {
    client.release();
  }
});
