import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  codeOf,
  exchange,
  frontEnd,
  fullLogin,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

async function freshCode(
  query: Record<string, string> = {},
): Promise<{ code: string; userId: string }> {
  const email = `${randomUUID()}@example.com`;
  const userId = await makeUser(service, email);
  const claims = { sub: randomUUID(), email, email_verified: true };
  return {
    code: await codeOf(await fullLogin(service, fake, { claims }, { query })),
    userId,
  };
}

const refusal = {
  message: "This login code is unknown, used, expired or meant for another address: log in again",
  path: ["exchangeLoginCode"],
  extensions: { code: "UNAUTHENTICATED" },
};

describe("a login code", () => {
  test("is exchanged once in ten concurrent requests", async () => {
    const { code } = await freshCode();
    const answers = await Promise.all(Array.from({ length: 10 }, () => exchange(service, code)));
    expect(answers.filter(({ data }) => data)).toHaveLength(1);
    for (const { data, errors } of answers) if (!data) expect(errors).toMatchObject([refusal]);
  });

  test("expires after a minute", async () => {
    const { code, userId } = await freshCode();
    const { rowCount } = await service.database.pool.query(
      "update login_codes set expires_at = expires_at - interval '60 seconds' where user_id = $1",
      [userId],
    );
    expect(rowCount).toBe(1);
    expect((await exchange(service, code)).errors).toMatchObject([refusal]);
  });

  test.each([
    ["https://app.example/signed-in/"],
    ["https://app.example/signed-in?next=1"],
    ["https://other.example/app/"],
    ["https://evil.example/"],
    [""],
  ])("is rejected with the address %j and used up by the attempt", async (returnTo) => {
    const { code, userId } = await freshCode();
    const answer = await exchange(service, code, { returnTo });
    expect(answer.errors).toMatchObject([refusal]);
    const { rows } = await service.database.pool.query(
      "select entity_type, metadata from audit_log where correlation_id = $1",
      [answer.headers.get("x-correlation-id")],
    );
    expect(rows).toEqual([
      {
        entity_type: "Session",
        metadata: { source: "api", refused: "other_return_address", provider: "main", userId },
      },
    ]);
    expect((await exchange(service, code)).errors).toMatchObject([refusal]);
  });

  test.each([
    ["bol_short"],
    ["x".repeat(10_000)],
    [""],
    ["bos_AAAA"],
    ["bol_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"],
  ])("is not %.40s", async (code) => {
    expect((await exchange(service, code)).errors).toMatchObject([refusal]);
  });

  test("needs the verifier of the login's challenge", async () => {
    const verifier = randomUUID();
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    for (const wrong of [
      {},
      { verifier: "" },
      { verifier: `${verifier}x` },
      { verifier: challenge },
    ]) {
      const { code } = await freshCode({ challenge });
      expect((await exchange(service, code, wrong)).errors).toMatchObject([refusal]);
    }
    const { code } = await freshCode({ challenge });
    expect((await exchange(service, code, { verifier })).data.exchangeLoginCode.token).toMatch(
      /^bos_/,
    );
    expect((await exchange(service, (await freshCode()).code, { verifier })).errors).toMatchObject([
      refusal,
    ]);
    expect((await visit(service, "/auth/login?challenge=short")).status).toBe(400);
  });

  test("is rejected for a user who has been deactivated", async () => {
    const { code, userId } = await freshCode();
    await service.database.pool.query("update users set is_active = false where id = $1", [userId]);
    expect((await exchange(service, code)).errors).toMatchObject([refusal]);
  });

  test("does not authenticate other fields of the same operation", async () => {
    const { code } = await freshCode();
    const answer = await service.ask(
      `mutation { exchangeLoginCode(code: "${code}", returnTo: "${frontEnd}") { token } logout }`,
    );
    expect(answer.errors).toMatchObject([
      { path: ["logout"], extensions: { code: "UNAUTHENTICATED" } },
    ]);
  });
});
