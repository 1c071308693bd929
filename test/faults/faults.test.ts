import { expect, test } from "@jest/globals";
import { waitFor } from "../helpers/waitFor.ts";
import { askAt } from "../helpers/service.ts";
import { underLedger, worldOfFile } from "../helpers/faults/world.ts";

// A short version of `npm run test:faults`.
const world = worldOfFile({ workers: 1 });

test("keeps every promise to clients exactly once while a worker, a server and the database fail", async () => {
  await underLedger(world(), async (ledger) => {
    const { servers, workers, databaseProxy } = world().fleet;
    workers[0]?.signal("SIGKILL");
    await ledger.waitForMore(10);
    servers[0]?.signal("SIGKILL");
    await ledger.waitForMore(10);
    await databaseProxy.cut();
    await waitFor("it to be noticed", () => ledger.tries.at(-1)?.outcome === "503");
    await databaseProxy.restore();
    await Promise.all([workers[0]?.ready(2), servers[0]?.ready(2)]);
  });
});

test("serializes a hundred concurrent edits of one row", async () => {
  const { fleet, staff } = world();
  const ask = (document: string, variables: Record<string, unknown>) =>
    askAt(fleet.url, document, { token: staff.token, variables });
  const { data } = await ask(
    `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }`,
    {
      input: {
        ...{ title: "Edit 0", price: "9,90 €", medium: "EMAIL", authorUserId: staff.userId },
        scheduledAt: "2099-09-01T08:00:00Z",
      },
    },
  );
  const id: string = data.createCampaign.id;
  const titles = Array.from({ length: 100 }, (_, index) => `Edit ${index + 1}`);
  const answers = await Promise.all(
    titles.map((title) =>
      ask(
        `mutation ($id: ID!, $input: UpdateCampaignInput!) { updateCampaign(id: $id, input: $input) { title } }`,
        { id, input: { title } },
      ),
    ),
  );
  expect(answers.map((answer) => answer.data?.updateCampaign.title)).toEqual(titles);

  // Each edit saw the result of exactly one other, in a single sequence.
  const { rows } = await fleet.database.pool.query<{ was: string; is: string }>(
    `select before ->> 'title' as was, after ->> 'title' as is from audit_log
     where entity_type = 'Campaign' and entity_id = $1 and operation = 'UPDATE'`,
    [id],
  );
  const next = new Map(rows.map(({ was, is }) => [was, is]));
  const line: string[] = [];
  for (let title = next.get("Edit 0"); title !== undefined; title = next.get(title))
    line.push(title);
  expect(line.toSorted()).toEqual(titles.toSorted());
  const last = await fleet.database.pool.query<{ title: string }>(
    "select title from campaigns where id = $1",
    [id],
  );
  expect(last.rows).toEqual([{ title: line.at(-1) }]);
});
