import { expect, test } from "@jest/globals";
import { startService } from "../helpers/service.ts";

test("tenants share a connection without sharing the types of prepared statements", async () => {
  // One connection, so that each statement has been prepared in the other tenant before.
  const service = await startService({
    env: { ENABLE_E2E_TEST_MODE: "true", DATABASE_POOL_SIZE: "1" },
  });
  try {
    const tenants: Record<string, string>[] = [
      {},
      { "x-test-run-id": "one" },
      { "x-test-run-id": "two" },
    ];
    for (const headers of tenants) {
      const login = await service.ask(
        `mutation { bootstrapFirstUser(email: "first@example.com") { token } }`,
        { headers },
      );
      const { token } = login.data.bootstrapFirstUser;
      for (const query of [
        `{ me { roles { name permissions { key } } } }`,
        `{ users { roles { permissions { key } } } roles { permissions { key } } }`,
        `{ orders(query: "status:OPEN") { nodes { id } } }`,
        `mutation { createCampaign(input: { title: "a", price: "1", medium: EMAIL, status: DRAFT,
            scheduledAt: "2026-10-01T08:00:00Z", authorUserId: "00000000-0000-4000-8000-000000000000" }) { medium } }`,
      ]) {
        const answer = await service.ask(query, { token, headers });
        for (const error of answer.errors ?? [])
          expect(error.extensions.code).toBe("BAD_USER_INPUT");
      }
    }
  } finally {
    await service.stop();
  }
});
