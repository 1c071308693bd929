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

const post = (body: string, headers = {}) => send(service.url, { body, headers });

describe("names of operations", () => {
  const two = "query A { a: __typename } query B { b: __typename }";
  test("choose among several", async () => {
    const answer = await post(JSON.stringify({ query: two, operationName: "B" }));
    expect(answer.json).toMatchObject({ data: { b: "Query" } });
  });
  test.each([
    ["unknown", { query: two, operationName: "C" }, /Unknown operation named "C"/],
    ["missing", { query: two }, /Must provide operation name/],
    ["empty", { query: two, operationName: "" }, /operation/],
    [
      "of an only operation wrong",
      { query: "query A { __typename }", operationName: "B" },
      /Unknown operation named "B"/,
    ],
    [
      "like a property of every object",
      { query: two, operationName: "__proto__" },
      /Unknown operation named/,
    ],
    ["of a document without any", { query: "fragment F on Query { __typename }" }, /./],
  ])("that are %s are rejected", async (_name, body, message) => {
    const answer = await post(JSON.stringify(body));
    expect(answer).toMatchObject({
      status: 200,
      json: {
        errors: [
          {
            message: expect.stringMatching(message),
            extensions: { code: "BAD_USER_INPUT", correlationId: expect.any(String) },
          },
        ],
      },
    });
    expect(answer.json.data ?? null).toBeNull();
  });
});

describe("names of inherited object properties", () => {
  test.each([
    [
      "in variables",
      `{"query":"query ($a: Boolean!) { __typename @include(if: $a) }","variables":{"__proto__":{"a":true},"a":true}}`,
      { data: { __typename: "Query" } },
    ],
    ["as an alias", `{"query":"{ __proto__: __typename constructor: __typename }"}`, undefined],
    [
      "beside the query",
      `{"query":"{ __typename }","__proto__":{"variables":1}}`,
      { data: { __typename: "Query" } },
    ],
  ])("have no effect %s", async (_name, body, expected) => {
    const answer = await post(body);
    expect(answer.status).toBe(200);
    if (expected) expect(answer.json).toMatchObject(expected);
    else expect(answer.text).toMatch(/^{"data":{"__proto__":"Query","constructor":"Query"},/);
  });

  test.each([
    [
      "a variable",
      `{"query":"query ($__proto__: Boolean!) { __typename @include(if: $__proto__) }","variables":{"__proto__":true}}`,
    ],
    [
      "an inherited variable",
      `{"query":"query ($a: Boolean!) { __typename @include(if: $a) }","variables":{"__proto__":{"a":true}}}`,
    ],
    [
      "a field of an input",
      `{"query":"mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }","variables":{"input":{"__proto__":{"title":"x"}}}}`,
    ],
    ["a field", `{"query":"{ __proto__ constructor hasOwnProperty }"}`],
  ])("are unknown like any other: %s", async (_name, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(200);
    for (const error of answer.json.errors ?? [])
      expect(error.extensions.code).toBe("BAD_USER_INPUT");
    expect(answer.text).not.toContain("Internal error");
  });
});

describe("string literals in the document", () => {
  const mutation = (literal: string) =>
    `mutation { createCampaign(input: { title: ${literal}, price: "1", medium: EMAIL, scheduledAt: "2026-01-01T00:00:00Z", authorUserId: "0198f2c4-7b1e-7c3d-9a55-2f6d1c0b8e4a" }) { id } }`;
  test.each([`"a\\u0000b"`, `"\\u{0}"`])("cannot contain NUL: %s", async (literal) => {
    const answer = await post(JSON.stringify({ query: mutation(literal) }));
    expect(answer).toMatchObject({
      status: 200,
      json: {
        errors: [
          {
            message: expect.stringMatching(/^input\.title holds/),
            extensions: { code: "BAD_USER_INPUT", path: ["input", "title"] },
          },
        ],
      },
    });
  });
  test.each([`"\\ud83d"`, `"\\u{d83d}"`])(
    "cannot contain an unpaired surrogate: %s",
    async (literal) => {
      const answer = await post(JSON.stringify({ query: mutation(literal) }));
      expect(answer).toMatchObject({
        status: 200,
        json: { errors: [{ extensions: { code: "BAD_USER_INPUT" } }] },
      });
    },
  );
  test("are reported by their field when they have the wrong type", async () => {
    const answer = await post(JSON.stringify({ query: mutation("7") }));
    expect(answer.json.errors).toMatchObject([
      {
        message: expect.stringMatching(/^input\.title: String cannot represent/),
        extensions: { code: "BAD_USER_INPUT", path: ["input", "title"] },
      },
    ]);
  });
});
