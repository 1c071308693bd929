import { expect } from "@jest/globals";
import { type Answer, type Service, startService } from "../service.ts";

/** A service with a caller who may manage campaigns and read related data. */
export interface Calls {
  service: Service;
  token: string;
  userId: string;
  roleId: string;
  /** Creates a valid campaign with these changes; undefined omits a field. */
  createWith(changes: Record<string, unknown>): Promise<Answer>;
  /** Expects an input error with a field and its path, without internal details, and no changed row. */
  expectRefusal(
    ask: () => Promise<Answer>,
    field: RegExp,
    path: unknown[],
    code?: string,
  ): Promise<void>;
}

const create = `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id title note scheduledAt vintage } }`;

/** Starts a service for requests that are mostly refused. Stop its `service` at the end. */
export async function startCalls(): Promise<Calls> {
  const service = await startService();
  const { token, userId, roleId } = await service.login([
    "campaigns.create",
    "campaigns.read",
    "campaigns.update",
    "campaigns.delete",
    "users.read",
    "roles.create",
    "roles.read",
    "invitations.create",
  ]);
  const input = {
    title: "Autumn",
    price: "9,90 €",
    medium: "EMAIL",
    scheduledAt: "2026-09-01T08:00:00Z",
    authorUserId: userId,
  };

  /** The row counts that the requests could change. */
  async function state(): Promise<unknown> {
    const { rows } = await service.database.pool.query(
      `select (select count(*) from campaigns) c, (select count(*) from users) u, (select count(*) from roles) r,
         (select count(*) from invitations) i, (select count(*) from audit_log where operation <> 'READ') a`,
    );
    return rows[0];
  }

  return {
    service,
    token,
    userId,
    roleId,
    createWith: (changes) =>
      service.ask(create, { token, variables: { input: { ...input, ...changes } } }),
    async expectRefusal(ask, field, path, code = "BAD_USER_INPUT") {
      const before = await state();
      const answer = await ask();
      expect(answer.status).toBe(200);
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
    },
  };
}
