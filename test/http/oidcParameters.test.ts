import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { expectRefusal } from "../helpers/expectRefusal.ts";
import { type FakeProvider, startFakeProvider } from "../helpers/fakeProvider.ts";
import {
  startLogin,
  codeOf,
  requestCallback,
  exchange,
  startLoginService,
  visit,
} from "../helpers/loginFlow.ts";
import { address, makeUser, verified } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});

describe("a callback with a valid state and code", () => {
  const issuerOf = (tenant: string) => encodeURIComponent(fake.settings(tenant).issuer);
  const cases: [string, (code: string, state: string) => string, number][] = [
    [
      "another issuer",
      (code, state) => `state=${state}&code=${code}&iss=${issuerOf("second")}`,
      502,
    ],
    [
      "two issuers",
      (code, state) =>
        `state=${state}&code=${code}&iss=${issuerOf("main")}&iss=${issuerOf("second")}`,
      502,
    ],
    ["two codes", (code, state) => `state=${state}&code=${code}&code=${code}`, 502],
    ["an error beside the code", (code, state) => `state=${state}&code=${code}&error=denied`, 502],
    ["an empty code", (_code, state) => `state=${state}&code=`, 502],
    ["the code as a list", (code, state) => `state=${state}&code[]=${code}`, 502],
    [
      "an identity token in the address",
      (code, state) => `state=${state}&code=${code}&id_token=eyJhbGciOiJub25lIn0.e30.`,
      502,
    ],
    ["a signed response in the address", (_code, state) => `state=${state}&response=eyJ.e30.`, 502],
    ["the state as a list", (code, state) => `state[]=${state}&code=${code}`, 400],
    ["the state by another name", (code, state) => `STATE=${state}&code=${code}`, 400],
    ["a NUL after the state", (code, state) => `state=${state}%00&code=${code}`, 400],
  ];
  test.each(cases)("and %s creates no session", async (_what, queryOf, status) => {
    const email = address();
    await makeUser(service, email);
    const started = await startLogin(service);
    const code = fake.grant(started.authorization, { claims: verified(email) });
    const query = queryOf(code, started.state);
    const back = await visit(service, `/auth/callback/main?${query}`, { cookie: started.cookie });
    await expectRefusal(service, email, back, status);
  });

  test("is accepted by GET only", async () => {
    const started = await startLogin(service);
    const query = new URLSearchParams({ state: started.state, code: "x" }).toString();
    for (const method of ["POST", "PUT", "DELETE"]) {
      const headers = { cookie: started.cookie };
      const address = `${service.url}/auth/callback/main?${query}`;
      expect((await fetch(address, { method, headers, redirect: "manual" })).status).toBe(405);
    }
  });
});

describe("twenty concurrent logins", () => {
  const people = async () =>
    Promise.all(
      Array.from({ length: 20 }, async () => {
        const claims = verified(address());
        const id = await makeUser(service, claims.email);
        const verifier = randomUUID();
        const challenge = createHash("sha256").update(verifier).digest("base64url");
        const started = await startLogin(service, "main", { challenge });
        return { id, verifier, started, code: fake.grant(started.authorization, { claims }) };
      }),
    );

  test("are rejected with the provider's code of another login", async () => {
    const all = await people();
    const answers = await Promise.all(
      all.map(({ started }, index) =>
        requestCallback(service, started, { code: all.at(index - 1)!.code }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(400));
  });

  test("cannot exchange the login code of another login", async () => {
    const all = await people();
    const codes = await Promise.all(
      all.map(async ({ started, code }) =>
        codeOf(await requestCallback(service, started, { code })),
      ),
    );
    const swapped = await Promise.all(
      all.map(({ verifier }, index) => exchange(service, codes.at(index - 1)!, { verifier })),
    );
    for (const { errors } of swapped) expect(errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});
