import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { makeToken } from "../../src/auth/tokens.ts";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

const me = JSON.stringify({ query: "{ me { email } }" });
const json: [string, string] = ["content-type", "application/json"];

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService({ env: { TRUSTED_PROXIES: "1" } });
  ({ token } = await service.login(["users.read", "audit.read"], "dora@example.com"));
});
afterAll(async () => {
  await service.stop();
});

const askMe = (...headers: [string, string][]) =>
  send(service.url, { headers: [json, ...headers], body: me });

describe("the Authorization header", () => {
  test.each([
    ["in its usual form", (t: string) => `Bearer ${t}`],
    ["with a scheme in small letters", (t: string) => `bearer ${t}`],
    ["with spaces around the token", (t: string) => `  BEARER   ${t}  `],
  ])("authenticates with %s", async (_name, value) => {
    expect((await askMe(["Authorization", value(token)])).json).toMatchObject({
      data: { me: { email: "dora@example.com" } },
    });
  });

  const ended: [string, (t: string) => [string, string][]][] = [
    [
      "given twice, with the same token",
      (t) => [
        ["Authorization", `Bearer ${t}`],
        ["authorization", `Bearer ${t}`],
      ],
    ],
    [
      "given twice, first without sense",
      (t) => [
        ["Authorization", "Basic eDp5"],
        ["Authorization", `Bearer ${t}`],
      ],
    ],
    ["with two tokens", (t) => [["Authorization", `Bearer ${t}, Bearer ${t}`]]],
    ["without a token", () => [["Authorization", "Bearer "]]],
    ["with 10 KB of token", () => [["Authorization", `Bearer ${"a".repeat(10_240)}`]]],
    ["with 10 KB behind a token", (t) => [["Authorization", `Bearer ${t}${"a".repeat(10_240)}`]]],
    ["with a quoted token", (t) => [["Authorization", `Bearer "${t}"`]]],
    ["with a token that nobody holds", () => [["Authorization", `Bearer ${makeToken("session")}`]]],
    [
      "with an API token that nobody holds",
      () => [["Authorization", `Bearer ${makeToken("api")}`]],
    ],
    [
      "with a wrong checksum",
      (t) => [["Authorization", `Bearer ${t.slice(0, -1)}${t.endsWith("0") ? "1" : "0"}`]],
    ],
    [
      "with one letter changed",
      (t) => [
        ["Authorization", `Bearer ${t.replace(/^(bos_)./, (_all, start: string) => `${start}~`)}`],
      ],
    ],
  ];
  const none: [string, (t: string) => [string, string][]][] = [
    ["left out", () => []],
    [
      "of the scheme Basic",
      (t) => [["Authorization", `Basic ${Buffer.from(`dora:${t}`).toString("base64")}`]],
    ],
    ["without a scheme", (t) => [["Authorization", t]]],
    ["of an unknown scheme", (t) => [["Authorization", `Token ${t}`]]],
    ["empty", () => [["Authorization", ""]]],
    [
      "under another name",
      (t) => [
        ["X-Authorization", `Bearer ${t}`],
        ["Proxy-Authorization", `Bearer ${t}`],
      ],
    ],
    [
      "in a cookie",
      (t) => [["Cookie", `token=${t}; session=${t}; Authorization=Bearer ${t}; bos=${t}`]],
    ],
  ];
  const expectRefusal = (answer: Awaited<ReturnType<typeof askMe>>, message: string) => {
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      data: { me: null },
      errors: [{ message, path: ["me"], extensions: { code: "UNAUTHENTICATED" } }],
    });
  };
  test.each(none)("is no credential %s", async (_name, headers) => {
    const answer = await askMe(...headers(token));
    expectRefusal(answer, "You are not logged in");
    expect(answer.headers["www-authenticate"]).toBe('Bearer realm="office"');
  });
  test.each(ended)("is no login %s", async (_name, headers) => {
    const answer = await askMe(...headers(token));
    expectRefusal(answer, "The token is unknown or has ended");
    expect(answer.headers["www-authenticate"]).toBe('Bearer error="invalid_token"');
  });

  test("is the only source of a token", async () => {
    const inBody = await send(service.url, {
      headers: [json],
      body: JSON.stringify({ query: "{ me { email } }", token, authorization: token }),
    });
    expect(inBody.json.data.me).toBeNull();
    const inAddress = await send(service.url, {
      path: `/graphql?access_token=${token}`,
      headers: [json],
      body: me,
    });
    expect(inAddress.json.data.me).toBeNull();
    expect(service.output()).not.toContain(token);
  });

  test("beyond Node's header limit ends the request", async () => {
    expect((await askMe(["Authorization", `Bearer ${"a".repeat(20_000)}`])).status).toBe(431);
  });
});
