import { createHmac, randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, test } from "@jest/globals";
import { SignJWT, UnsecuredJWT, generateKeyPair } from "jose";
import { expectRefusal } from "../helpers/expectRefusal.ts";
import {
  type FakeProvider,
  type Grant,
  clientSecret,
  startFakeProvider,
} from "../helpers/fakeProvider.ts";
import { fullLogin, startLoginService } from "../helpers/loginFlow.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import type { Service } from "../helpers/service.ts";

let fake: FakeProvider;
let service: Service;
let email: string;
let claims: Record<string, unknown>;

beforeAll(async () => {
  fake = await startFakeProvider();
  service = await startLoginService(fake, ["main", "second", "naming"]);
});
afterAll(async () => {
  await service.stop();
  await fake.stop();
});
beforeEach(async () => {
  email = `${randomUUID()}@example.com`;
  claims = { sub: randomUUID(), email, email_verified: true };
  await makeUser(service, email);
});

const refused = (response: Response, status: number) =>
  expectRefusal(service, email, response, status);

describe("an untrusted identity token", () => {
  const hmac = (secret: string) => (payload: Record<string, unknown>) => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const body = `${encode({ alg: "HS256", kid: "one" })}.${encode(payload)}`;
    return `${body}.${createHmac("sha256", secret).update(body).digest("base64url")}`;
  };
  const unsigned = (header: object) => (payload: Record<string, unknown>) =>
    [header, payload]
      .map((value) => Buffer.from(JSON.stringify(value)).toString("base64url"))
      .join(".") + ".AAAA";
  const now = () => Math.floor(Date.now() / 1000);
  const cases: [string, () => Grant | Promise<Grant>][] = [
    ["repeats another nonce", () => ({ claims: { ...claims, nonce: "another" } })],
    ["repeats no nonce", () => ({ claims: { ...claims, nonce: undefined } })],
    ["is for another audience", () => ({ claims: { ...claims, aud: "another" } })],
    [
      "is for several audiences and authorised for another",
      () => ({ claims: { ...claims, aud: ["office", "another"], azp: "another" } }),
    ],
    ["is authorised for another client", () => ({ claims: { ...claims, azp: "another" } })],
    ["is authorised for a client that is no text", () => ({ claims: { ...claims, azp: 7 } })],
    [
      "is for several audiences and names no authorised one",
      () => ({ claims: { ...claims, aud: ["office", "another"] } }),
    ],
    ["is for no audience", () => ({ claims: { ...claims, aud: [] } })],
    [
      "spells the issuer with a slash at the end",
      () => ({ claims: { ...claims, iss: `${fake.settings("main").issuer}/` } }),
    ],
    ["is signed by `nOnE`", () => ({ claims, sign: unsigned({ alg: "nOnE" }) })],
    [
      "demands an extension that nobody knows",
      () => ({ claims, sign: unsigned({ alg: "RS256", kid: "one", crit: ["x"], x: 1 }) }),
    ],
    [
      "comes from another issuer",
      () => ({ claims: { ...claims, iss: fake.settings("second").issuer } }),
    ],
    ["is expired", () => ({ claims: { ...claims, iat: now() - 900, exp: now() - 300 } })],
    ["never expires", () => ({ claims: { ...claims, exp: undefined } })],
    ["is not valid yet", () => ({ claims: { ...claims, nbf: now() + 300 } })],
    ["names no subject", () => ({ claims: { ...claims, sub: undefined } })],
    ["names a subject that is no text", () => ({ claims: { ...claims, sub: 7 } })],
    ["names an empty subject", () => ({ claims: { ...claims, sub: "" } })],
    ["names a subject of 300 characters", () => ({ claims: { ...claims, sub: "x".repeat(300) } })],
    ["names a subject with NUL", () => ({ claims: { ...claims, sub: "x\0y" } })],
    ["is not signed", () => ({ claims, sign: (payload) => new UnsecuredJWT(payload).encode() })],
    [
      "is signed with the public key as a shared secret",
      () => ({ claims, sign: hmac(fake.publicKeyPem) }),
    ],
    ["is signed with the client's secret", () => ({ claims, sign: hmac(clientSecret) })],
    [
      "is signed with another key of the same name",
      async () => {
        const { privateKey } = await generateKeyPair("RS256");
        return {
          claims,
          sign: (payload) =>
            new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "one" }).sign(privateKey),
        };
      },
    ],
    [
      "brings its own key",
      async () => {
        const { privateKey } = await generateKeyPair("RS256");
        return {
          claims,
          sign: (payload) =>
            new SignJWT(payload).setProtectedHeader({ alg: "RS256", kid: "mine" }).sign(privateKey),
        };
      },
    ],
    ["is no token", () => ({ claims, sign: () => "nonsense" })],
    ["is empty", () => ({ claims, sign: () => "" })],
  ];
  test.each(cases)("that %s creates no session", async (_what, make) => {
    await refused(await fullLogin(service, fake, await make()), 502);
  });

  test("is not trusted because of user info about another subject", async () => {
    const { sub } = claims;
    const grant = { claims: { sub }, userinfo: { ...claims, sub: "another" } };
    await refused(await fullLogin(service, fake, grant), 502);
  });
});
