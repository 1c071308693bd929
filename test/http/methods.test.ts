import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

const query = "{ __typename }";
const plain = JSON.stringify({ query });
const post = (body: string, headers = {}) => send(service.url, { body, headers });

describe("methods", () => {
  const page = { accept: "text/html" };
  test.each([
    ["asks for a page", page],
    ["takes anything", { accept: "*/*" }],
    ["does not say what it takes", {}],
  ])("a GET that %s returns the playground", async (_who, headers) => {
    const answer = await send(service.url, { method: "GET", headers });
    expect(answer).toMatchObject({
      status: 200,
      headers: { "content-type": expect.stringMatching(/^text\/html/) },
    });
    expect(answer.text).toContain("<html");
  });
  test("the playground's script is served", async () => {
    const { text } = await send(service.url, { method: "GET", headers: page });
    const path = /from "([^"]+\.js)"/.exec(text)?.[1] ?? "";
    const script = await send(service.url, { method: "GET", path });
    expect(script).toMatchObject({
      status: 200,
      headers: { "content-type": expect.stringMatching(/^text\/javascript/) },
    });
  });
  test.each([
    ["GET", "/graphql", { accept: "application/json" }],
    ["GET", "/graphql", { accept: "application/json, */*;q=0.5" }],
    ["GET", "/graphql?query={__typename}", {}],
    ["GET", "/graphql?query=mutation{logout}", {}],
    ["GET", "/graphql?query=mutation{logout}", page],
    ["HEAD", "/graphql", { accept: "application/json" }],
    ["PUT", "/graphql", {}],
    ["DELETE", "/graphql", page],
    ["PATCH", "/graphql", {}],
  ])("%s %s is answered 405", async (method, path, headers) => {
    const answer = await send(service.url, { method, path, headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST");
    if (method !== "HEAD") expect(answer.json.errors[0].extensions.code).toBe("BAD_USER_INPUT");
  });
  test.each([
    ["POST", "/healthz", "GET, HEAD"],
    ["DELETE", "/auth/login", "GET, HEAD"],
    ["POST", "/exports/0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a/download", "GET, HEAD"],
    ["GET", "/exports/workbooks", "POST"],
    ["GET", "/ai/chat", "POST"],
    ["PUT", "/ai/conversations/1", "GET, HEAD, PATCH, DELETE"],
    ["PUT", "/ai/attachments/1", "GET, HEAD, DELETE"],
  ])("%s %s is answered 405 with Allow", async (method, path, allow) => {
    const answer = await send(service.url, { method, path });
    expect(answer).toMatchObject({ status: 405, headers: { allow } });
    expect(answer.json.errors[0]).toMatchObject({
      message: `Use ${allow.replaceAll(", ", " or ")} here`,
      extensions: { code: "BAD_USER_INPUT" },
    });
  });
  test("an unknown path has no Allow", async () => {
    for (const path of ["/exports", "/ai/chat/1/2/3", "/nothing"]) {
      const answer = await send(service.url, { method: "PUT", path });
      expect(answer.status).toBe(404);
      expect(answer.headers.allow).toBeUndefined();
    }
  });
  test("an unsupported Accept is answered 406", async () => {
    const answer = await post(plain, { accept: "application/xml" });
    expect(answer).toMatchObject({
      status: 406,
      json: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] },
    });
  });
  test.each([
    ["an answer with data", 200, { query }],
    ["a field that is refused", 200, { query: "{ me { id } }" }],
    ["a syntax error", 400, { query: "{ nothing" }],
    ["an unknown field", 400, { query: "{ nothing }" }],
    [
      "a missing operation name",
      400,
      { query: "query A { a: __typename } query B { b: __typename }" },
    ],
    [
      "a wrong variable",
      400,
      { query: "query ($n: Int!) { products(first: $n) { totalCount } }", variables: { n: "x" } },
    ],
    ["an unknown variable's type", 400, { query: "query ($n: Nothing) { __typename }" }],
  ])(
    "%s has status %i under application/graphql-response+json, and 200 under application/json",
    async (_case, status, body) => {
      const newer = await post(JSON.stringify(body), {
        accept: "application/graphql-response+json",
      });
      expect(newer.status).toBe(status);
      expect(newer.headers["content-type"]).toMatch(/^application\/graphql-response\+json/);
      const older = await post(JSON.stringify(body), { accept: "application/json" });
      expect(older.status).toBe(200);
      expect("data" in newer.json).toBe(status === 200);
      expect(Object.keys(older.json)).toEqual(Object.keys(newer.json));
    },
  );
  test("a subscription is rejected with its location", async () => {
    const answer = await post(JSON.stringify({ query: "subscription { me { id } }" }));
    expect(answer).toMatchObject({
      status: 200,
      json: {
        errors: [
          {
            message: "There are no operations of the kind subscription",
            locations: [{ line: 1, column: 1 }],
            extensions: { code: "BAD_USER_INPUT" },
          },
        ],
      },
    });
  });
  test.each(["/nothing", "/GRAPHQL", "/graphql/"])(
    "the unknown path %s is 404 with a code",
    async (path) => {
      // The first could be answered without Grafast, the second not.
      for (const body of [plain, JSON.stringify({ query: "{ __schema { description } }" })]) {
        const answer = await send(service.url, { path, body });
        expect(answer).toMatchObject({ status: 404, json: { error: { code: "NOT_FOUND" } } });
      }
    },
  );
});

test("the assistant without a language model answers 503 to permitted callers", async () => {
  const { token } = await service.login(["ai.use"]);
  const message = { id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] };
  const ask = (headers: Record<string, string>) =>
    send(service.url, {
      path: "/ai/chat",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ id: "conversation", messages: [message] }),
    });
  expect(await ask({ authorization: `Bearer ${token}` })).toMatchObject({
    status: 503,
    json: { error: { code: "UNAVAILABLE", message: "assistant not configured" } },
  });
  expect((await ask({})).status).toBe(401);
});
