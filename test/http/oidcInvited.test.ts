import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  auditOf,
  startLogin,
  codeOf,
  requestCallback,
  exchange,
  fullLogin,
  startLoginService,
} from "../helpers/loginFlow.ts";
import { address, count, invite, verified } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let sibling: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second"]);
  sibling = await startLoginService(fake, ["main", "second"], { database: service.database });
});
afterAll(async () => {
  await sibling.stop();
  await service.stop();
  await fake.stop();
});

describe("the first login of an invited person", () => {
  test("activates the user and accepts the invitation", async () => {
    const email = address();
    const id = await invite(service, email, "1 day");
    const back = await fullLogin(service, fake, { claims: verified(email) });
    expect((await exchange(service, await codeOf(back))).data.exchangeLoginCode.user).toMatchObject(
      { id, isActive: true },
    );
    expect(
      (await auditOf(service, back))
        .map((row) => `${row.operation as string} ${row.entity_type as string}`)
        .sort(),
    ).toEqual(["CREATE UserIdentity", "UPDATE Invitation", "UPDATE User"]);
    expect(
      await count(
        service,
        "invitations where user_id = $1 and state = 'accepted' and accepted_at is not null",
        [id],
      ),
    ).toBe(1);
  });

  test("activates the user once in ten concurrent logins, which all succeed", async () => {
    const email = address();
    const id = await invite(service, email, "1 day");
    const sub = randomUUID();
    const browsers = await Promise.all(Array.from({ length: 10 }, () => startLogin(service)));
    const answers = await Promise.all(
      browsers.map((started, index) => {
        const code = fake.grant(started.authorization, { claims: verified(email, sub) });
        return requestCallback(index % 2 ? service : sibling, started, { code });
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(303));
    const rows = (await Promise.all(answers.map((answer) => auditOf(service, answer)))).flat();
    expect(
      rows.map((row) => `${row.operation as string} ${row.entity_type as string}`).sort(),
    ).toEqual(["CREATE UserIdentity", "UPDATE Invitation", "UPDATE User"]);
    expect(await count(service, "user_identities where user_id = $1", [id])).toBe(1);
  });

  test("ends the invitation once in a race with activateUser and revokeInvitation", async () => {
    const { rows: keys } = await service.database.pool.query<{ key: string }>(
      "select key from permissions",
    );
    const { token } = await service.login(keys.map(({ key }) => key));
    for (const order of [0, 1, 2, 0, 1, 2]) {
      const email = address();
      const id = await invite(service, email, "1 day");
      const sub = randomUUID();
      const browsers = await Promise.all(Array.from({ length: 10 }, () => startLogin(service)));
      const { rows } = await service.database.pool.query<{ id: string }>(
        "select id from invitations where user_id = $1",
        [id],
      );
      const invitationId = rows[0]!.id;
      const ask = (query: string, variables: object) =>
        Array.from({ length: 5 }, () => service.ask(query, { token, variables: { ...variables } }));
      const steps = [
        () =>
          browsers.map((started) => {
            const code = fake.grant(started.authorization, { claims: verified(email, sub) });
            return requestCallback(service, started, { code });
          }),
        () => ask("mutation ($id: ID!) { activateUser(userId: $id) { id } }", { id }),
        () => ask("mutation ($id: ID!) { revokeInvitation(id: $id) { id } }", { id: invitationId }),
      ];
      const started = [...steps.slice(order), ...steps.slice(0, order)].flatMap<
        Promise<{ status: number }>
      >((start) => start());
      const answers = await Promise.all(started);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      expect(
        await count(
          service,
          `audit_log where entity_id = $1 and operation = 'UPDATE' and after ->> 'status' in ('accepted', 'expired')`,
          [invitationId],
        ),
      ).toBe(1);
      expect(
        await count(service, "audit_log where entity_id = $1 and after ->> 'isActive' = 'true'", [
          id,
        ]),
      ).toBe(1);
      expect(await count(service, "user_identities where user_id = $1", [id])).toBeLessThan(2);
    }
  });

  test("links one of ten concurrent identities with the same address", async () => {
    const email = address();
    const id = await invite(service, email, "1 day");
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => fullLogin(service, fake, { claims: verified(email) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      303,
      ...Array<number>(9).fill(403),
    ]);
    expect(await count(service, "user_identities where user_id = $1", [id])).toBe(1);
  });
});
