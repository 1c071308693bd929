import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { create as contentDisposition } from "content-disposition";
import type { Request } from "express";
import { GraphQLError, type OperationDefinitionNode, buildSchema, parse } from "graphql";
import { sql } from "postgraphile/pg-sql2";
import type { UIMessageChunk } from "ai";
import { csvText } from "../../src/assistant/attachmentText.ts";
import { truncateResult, collectIds } from "../../src/assistant/truncate.ts";
import { assembleMessage, mergeDeltas } from "../../src/assistant/messages.ts";
import { sanitizeJson } from "../../src/assistant/sanitizeJson.ts";
import { escapePictures } from "../../src/assistant/escapePictures.ts";
import { bearerCredential } from "../../src/auth/bearerCredential.ts";
import { isAllowedReturn, withCode } from "../../src/settings/returnAddress.ts";
import { redactTokens } from "../../src/auth/tokens.ts";
import { readConfig } from "../../src/config.ts";
import { escapeHtml } from "../../src/html/escapeHtml.ts";
import { readCursor as readErpCursor } from "../../src/gateways/erp/cursor.ts";
import { parseJson, plainDecimal } from "../../src/gateways/erp/json.ts";
import { readRetryAfter } from "../../src/gateways/retryAfter.ts";
import { checkEnumLists, checkVariableSize } from "../../src/graphql/checkVariables.ts";
import { makeDocuments } from "../../src/graphql/documents.ts";
import { makeErrorMask } from "../../src/errors/toPublicError.ts";
import { readChatBody } from "../../src/http/assistant/chatBody.ts";
import { readBrowserCookie } from "../../src/http/browserCookie.ts";
import { correlationIdOf } from "../../src/http/correlation.ts";
import { makeDocumentFinder } from "../../src/http/documentFinder.ts";
import { idempotencyKeyOf } from "../../src/http/idempotencyKey.ts";
import { exceededLimit } from "../../src/graphql/jsonSize.ts";
import { createLog } from "../../src/process/log.ts";
import { messageOf } from "../../src/health/externalSystems.ts";
import { readCursor } from "../../src/paging/cursors.ts";
import { compileQuery } from "../../src/query/compile.ts";
import { parseQuery } from "../../src/query/parse.ts";
import { coerceVariables } from "../../src/graphql/coerceVariables.ts";
import { numberFormatProblem } from "../../src/xlsx/numberFormat.ts";
import { toSheetName } from "../../src/xlsx/sheetNames.ts";
import { textElement, xmlText } from "../../src/xlsx/xmlText.ts";
import { growthFaults, growthOf } from "../helpers/growth.ts";
import { wines } from "../helpers/query/tables.ts";

// Each function that reads untrusted input must have linear cost, up to the largest possible input and beyond.
jest.setTimeout(300_000);

type Run = [largest: number, make: (size: number) => unknown, run: (input: never) => unknown];
const check = <Input>(
  largest: number,
  make: (size: number) => Input,
  run: (input: Input) => unknown,
): Run => [largest, make, run];

const list = (count: number, make: (index: number) => string, between = " ") =>
  Array.from({ length: count }, (_value, index) => make(index)).join(between);
const times = (text: string, size: number) => text.repeat(Math.ceil(size / text.length));

const config = readConfig({});
const schema = buildSchema(
  readFileSync(join(import.meta.dirname, "../../schema.graphql"), "utf8"),
  { assumeValid: true },
);
/** Bypasses the document cache, which would make repeated reads free. */
const readDocument = (query: string) => makeDocuments(() => schema, config).read(query);
const document = (largest: number, make: (size: number) => string) =>
  check(largest, make, readDocument);
const products = (selection: string) => `{ products(first: 1) { nodes { ${selection} } } }`;

const documents: Record<string, Run> = {
  "fragments in a chain": document(
    600,
    (n) =>
      `{ ...F0 } ${list(n, (i) => `fragment F${i} on Query { ...F${i + 1} }`)} fragment F${n} on Query { __typename }`,
  ),
  "fragments that double": document(
    200,
    (n) =>
      `{ ...F0 } ${list(n, (i) => `fragment F${i} on Query { a${i}: __typename ...F${i + 1} ...F${i + 1} }`)} fragment F${n} on Query { __typename }`,
  ),
  "a circle of fragments": document(
    600,
    (n) => `{ ...F0 } ${list(n, (i) => `fragment F${i} on Query { ...F${(i + 1) % n} }`)}`,
  ),
  "spreads of one fragment": document(
    1_200,
    (n) => `{ ${"...F ".repeat(n)} } fragment F on Query { __typename }`,
  ),
  "unused fragments": document(
    400,
    (n) => `{ __typename } ${list(n, (i) => `fragment F${i} on Query { __typename }`)}`,
  ),
  "inline fragments": document(
    1_000,
    (n) => `{ ${"... { ".repeat(n)}__typename${" }".repeat(n)} }`,
  ),
  aliases: document(1_300, (n) => products(list(n, (i) => `a${i}: name`))),
  "aliases of one name": document(1_300, (n) =>
    products(list(n, (i) => `a: ${i % 2 ? "id" : "name"}`)),
  ),
  "the same field": document(3_900, (n) => products("name ".repeat(n))),
  "nested fields": document(1_300, (n) => `${"{ products ".repeat(n)}${"}".repeat(n)}`),
  directives: document(800, (n) => `{ __typename ${"@skip(if: false) ".repeat(n)} }`),
  "unknown directives": document(1_900, (n) => `{ __typename ${list(n, (i) => `@d${i}`)} }`),
  "declared variables": document(
    900,
    (n) => `query (${list(n, (i) => `$v${i}: Int`)}) { __typename }`,
  ),
  "used variables": document(
    600,
    (n) =>
      `query (${list(n, (i) => `$v${i}: Boolean!`)}) { ${list(n, (i) => `__typename @skip(if: $v${i})`)} }`,
  ),
  operations: document(900, (n) => list(n, (i) => `query q${i} { __typename }`)),
  "unknown fields": document(3_900, (n) => `{ ${list(n, (i) => `field${i}`)} }`),
  "unknown arguments": document(
    1_200,
    (n) => `{ products(${list(n, (i) => `a${i}: 1`)}) { nodes { id } } }`,
  ),
  "an unknown name of many letters": document(90_000, (n) => `{ ${"n".repeat(n)} }`),
  "a list": document(
    3_900,
    (n) => `{ products(orderBy: [${"NAME_ASC ".repeat(n)}]) { nodes { id } } }`,
  ),
  "a nested list": document(
    1_900,
    (n) => `{ products(orderBy: ${"[".repeat(n)}${"]".repeat(n)}) { nodes { id } } }`,
  ),
  "a nested object": document(
    1_300,
    (n) => `mutation { createRole(input: ${"{a:".repeat(n)}1${"}".repeat(n)}) { id } }`,
  ),
  "a block text": document(
    90_000,
    (n) => `{ products(query: """${times("\n  ", n)}""") { nodes { id } } }`,
  ),
  "a block text of quotes": document(
    90_000,
    (n) => `{ products(query: """${times('\\"""', n)}""") { nodes { id } } }`,
  ),
  "a text of escapes": document(
    90_000,
    (n) => `{ products(query: "${times("\\u0041", n)}") { nodes { id } } }`,
  ),
  "a text that does not end": document(90_000, (n) => `{ products(query: "${"a".repeat(n)}`),
  "a number of many digits": document(
    90_000,
    (n) => `{ products(first: ${"9".repeat(n)}) { nodes { id } } }`,
  ),
  comments: document(90_000, (n) => `{ __typename } ${times("#\n", n)}`),
  "commas and byte-order marks": document(90_000, (n) => `{ __typename ${times("\ufeff,", n)} }`),
};

const mutation = parse(
  "mutation ($i: SyncProductsInput!) { syncProducts(input: $i) { failedCount } }",
).definitions[0] as OperationDefinitionNode;
const ordered = parse(
  "query ($o: [ProductOrderBy!]) { products(first: 1, orderBy: $o) { nodes { id } } }",
).definitions[0] as OperationDefinitionNode;
const limits = { values: config.limits.variableValues, listItems: 50_000 };
const placeOf = (path: (string | number)[]) => path;
const coerce = (operation: OperationDefinitionNode) => (variables: Record<string, unknown>) => {
  checkVariableSize(variables, limits, placeOf);
  checkEnumLists(schema, operation, variables, placeOf);
  return coerceVariables(schema, operation, variables);
};
const variables = (largest: number, make: (size: number) => Record<string, unknown>) =>
  check(largest, make, coerce(mutation));
const keys = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_value, index) => [`k${index}`, 0]));
const nested = (count: number) => {
  let value: unknown = 0;
  for (let level = 0; level < count; level++) value = { a: value };
  return value;
};
const given: Record<string, Run> = {
  "unknown keys": variables(100, (n) => ({ i: keys(n) })),
  "unknown variables": variables(1_000, keys),
  "objects of unknown keys": variables(2_000, (n) => ({
    i: { products: Array.from({ length: n }, () => keys(100)) },
  })),
  "objects nested": variables(50, (n) => ({ i: nested(n) })),
  rows: variables(8_000, (n) => ({
    i: {
      products: Array.from({ length: n }, (_value, index) => ({
        erpProductNumber: String(index),
        fields: { name: "wine" },
      })),
    },
  })),
  "a long text": variables(4_000_000, (n) => ({
    i: { products: [{ erpProductNumber: "\u{1f377}".repeat(n / 2) }] },
  })),
  "numbers in place of rows": variables(50_000, (n) => ({ i: { products: Array(n).fill(1) } })),
  "wrong values of an enum": check(50_000, (n) => ({ o: Array(n).fill("NAMES") }), coerce(ordered)),
  "right values of an enum": check(
    50_000,
    (n) => ({ o: Array(n).fill("NAME_ASC") }),
    coerce(ordered),
  ),
};

const header = (name: string, value: string) => ({ headers: { [name]: value } }) as never;
// The check reads only these parts of a request, so the others are missing.
const rawHeaders = (name: string, value: string) =>
  ({ rawHeaders: [name, value], body: {} }) as unknown as Request;
const headerBytes = 16_000;
const headers: Record<string, Run> = {
  Authorization: check(
    headerBytes,
    (n) => `Bearer ${times("bos_", n)}`,
    (value: string) => bearerCredential(["authorization", value]),
  ),
  "Authorization of spaces": check(
    headerBytes,
    (n) => `Bearer${" ".repeat(n)}!`,
    (value: string) => bearerCredential(["authorization", value]),
  ),
  "many headers": check(
    2_000,
    (n) => Array.from({ length: n }, () => "authorization"),
    (names: string[]) => bearerCredential(names),
  ),
  "X-Correlation-Id": check(
    headerBytes,
    (n) => times("bo", n),
    (value: string) => correlationIdOf(header("x-correlation-id", value)),
  ),
  "Idempotency-Key": check(
    headerBytes,
    (n) => "k".repeat(n),
    (value: string) => idempotencyKeyOf(rawHeaders("idempotency-key", value)),
  ),
  Cookie: check(
    headerBytes,
    (n) => times("office_login=a; ", n),
    (value: string) => readBrowserCookie(header("cookie", value), false),
  ),
  "Cookie of spaces": check(
    headerBytes,
    (n) => `${" ".repeat(n)}=`,
    (value: string) => readBrowserCookie(header("cookie", value), false),
  ),
  "Retry-After": check(
    headerBytes,
    (n) => `Mon, ${times("1 : ", n)}`,
    (value: string) => readRetryAfter(value, 0),
  ),
  "tokens in a log line": check(1_000_000, (n) => times("bos_a-", n), redactTokens),
  "logins in an error": check(
    1_000_000,
    (n) => times("//a:b", n),
    (text: string) => messageOf(new Error(text)),
  ),
  "an address to return to": check(
    headerBytes,
    (n) => `https://a.example/${times("%2e/", n)}?${times("a=b&", n)}`,
    (address: string) => isAllowedReturn(address, ["https://a.example/"]) && withCode(address, "c"),
  ),
  "a host of many dots": check(
    headerBytes,
    (n) => `https://${times("a.", n)}`,
    (address: string) => isAllowedReturn(address, ["https://a.example/"]),
  ),
};

const compiled = (text: string) =>
  sql.compile(compileQuery(parseQuery(text), wines, () => new Date(0))(sql.identifier("w")));
const query = (make: (size: number) => string) => check(4_000, make, compiled);
const queries: Record<string, Run> = {
  parentheses: query((n) => "(".repeat(n / 2) + ")".repeat(n / 2)),
  "open parentheses": query((n) => "(".repeat(n)),
  negations: query((n) => `${"-".repeat(n)}a`),
  "NOT chains": query((n) => `${times("NOT ", n)}a`),
  words: query((n) => times("a ", n)),
  alternatives: query((n) => `a${times(" OR a", n)}`),
  "an IN list": query((n) => `vintage:IN(${times("1,", n)}1)`),
  ranges: query((n) => times("vintage:[1 TO 2] ", n)),
  "a range that does not end": query((n) => `vintage:[${times("1 TO ", n)}`),
  quotes: query((n) => '"'.repeat(n)),
  "a quoted text that does not end": query((n) => `"${"a".repeat(n)}`),
  backslashes: query((n) => `"${"\\".repeat(n)}"`),
  wildcards: query((n) => `name:${times("a*", n)}`),
  stars: query((n) => "*".repeat(n)),
  "a long word": query((n) => "a".repeat(n)),
  "a field of many names": query((n) => `${times("a.", n)}:1`),
  "an unknown field": query((n) => `${times("vintgae", n)}:1`),
  comparisons: query((n) => `vintage:${times(">=", n)}1`),
  "combining marks": query((n) => `e${"\u0301".repeat(n)}`),
};

const chatOf = (message: unknown) => ({ id: "growth", messages: [message] });
const readChat = (body: unknown) => readChatBody(body, 20_000);
const chunks = (count: number, id: (index: number) => string): UIMessageChunk[] =>
  Array.from({ length: count }, (_value, index) => id(index)).flatMap((one, index) => [
    ...(index === 0 || one !== id(index - 1) ? [{ type: "text-start" as const, id: one }] : []),
    { type: "text-delta" as const, id: one, delta: "![a " },
  ]);
const drain = async (stream: AsyncIterable<unknown>) => {
  for await (const _chunk of stream);
};
async function* streamed(all: readonly UIMessageChunk[]) {
  for (const chunk of all) yield await Promise.resolve(chunk);
}
const assistant: Record<string, Run> = {
  "messages of a chat": check(
    20_000,
    (n) => ({
      id: "g",
      messages: Array.from({ length: n }, () => ({
        id: "m",
        role: "user",
        parts: [{ type: "text", text: "a" }],
      })),
    }),
    readChat,
  ),
  "parts of a message": check(
    20_000,
    (n) => chatOf({ id: "m", role: "user", parts: Array(n).fill({ type: "text", text: "" }) }),
    readChat,
  ),
  "unknown parts of a message": check(
    20_000,
    (n) =>
      chatOf({
        id: "m",
        role: "assistant",
        parts: Array(n).fill({ type: "tool-x", state: "approval-responded" }),
      }),
    readChat,
  ),
  "a text": check(
    2_000_000,
    (n) => chatOf({ id: "m", role: "user", parts: [{ type: "text", text: " ".repeat(n) }] }),
    readChat,
  ),
  "pieces of an answer": check(
    20_000,
    (n) => chunks(n, () => "a"),
    (all: UIMessageChunk[]) => drain(escapePictures(streamed(all))),
  ),
  "pieces put together": check(
    20_000,
    (n) => chunks(n, () => "a"),
    (all: UIMessageChunk[]) => mergeDeltas(all),
  ),
  "texts that a model writes at a time": check(
    20_000,
    (n) => [
      ...["a", "b"].map((id) => ({ type: "text-start" as const, id })),
      ...Array.from({ length: n }, (_value, index) => ({
        type: "text-delta" as const,
        id: index % 2 ? "a" : "b",
        delta: "word ",
      })),
    ],
    (all: UIMessageChunk[]) => assembleMessage(null, all),
  ),
  "a tool's result": check(
    20_000,
    (n) => ({ nodes: Array.from({ length: n }, (_v, id) => ({ id: String(id), name: "wine" })) }),
    (result: Record<string, unknown>) => [truncateResult(result), collectIds(result)],
  ),
  "a text to store": check(250_000, (n) => times("\ud800\0", n), sanitizeJson),
  "a CSV attachment": check(
    4_000_000,
    (n) => Buffer.from(times('"a;"",', n)),
    (bytes: Buffer) => csvText(bytes, 20_000),
  ),
};

const others: Record<string, Run> = {
  "a cursor": check(
    60_000,
    (n) => Buffer.from(times('["a",1],', n)).toString("base64"),
    (cursor: string) => readCursor("after", cursor),
  ),
  "a nested cursor": check(
    60_000,
    (n) => Buffer.from("[".repeat(n)).toString("base64"),
    (cursor: string) => readCursor("after", cursor),
  ),
  "the ERP's cursor": check(
    100_000,
    (n) => Buffer.from(`[${times("1,", n)}1]`).toString("base64url"),
    (cursor: string) => readErpCursor(cursor, "orders"),
  ),
  "the ERP's answer": check(1_000_000, (n) => `[${times('{"a":1.5},', n)}1]`, parseJson),
  "the ERP's number": check(1_000_000, (n) => `${"0".repeat(n)}.${"0".repeat(n)}`, plainDecimal),
  "a body of brackets": check(
    5_000_000,
    (n) => Buffer.from("[".repeat(n)),
    (text: Buffer) => exceededLimit(text, { depth: 1e9, values: 1e9 }),
  ),
  "a body of quotes": check(
    5_000_000,
    (n) => Buffer.from('"'.repeat(n)),
    (text: Buffer) => exceededLimit(text, { depth: 50, values: 1e9 }),
  ),
  "a persisted hash": check(
    1_000_000,
    (n) => ({ documentId: `sha256:${"a".repeat(n)}` }),
    makeDocumentFinder(new Map(), false),
  ),
  "an error's text": check(
    1_000_000,
    (n) => `Variable "$i" got invalid value "${times('; Field "a" at "b"; ', n)}"`,
    (message: string) =>
      makeErrorMask({ constraints: new Map(), log: createLog("silent") })(
        new GraphQLError(message),
      ),
  ),
  "the name of a sheet": check(
    10_000,
    (n) => `a${"' ".repeat(n / 2)}a`,
    (name: string) => toSheetName(name),
  ),
  "apostrophes in the name of a sheet": check(
    10_000,
    (n) => `a${"'".repeat(n)}a`,
    (name: string) => toSheetName(name),
  ),
  "the name of a download": check(
    10_000,
    (n) => `${times('é".', n)}.xlsx`,
    (name: string) => contentDisposition(name),
  ),
  "a number format": check(255, (n) => times('[$"', n), numberFormatProblem),
  "a cell's text": check(
    1_000_000,
    (n) => times("_x0041_<", n),
    (text: string) => textElement(text),
  ),
  "an attribute's text": check(1_000_000, (n) => times('"\n', n), xmlText),
  "a page's text": check(1_000_000, (n) => times("<&", n), escapeHtml),
};

/** The limit for the largest input. */
const boundMs = 600;

describe.each(Object.entries({ documents, variables: given, headers, queries, assistant, others }))(
  "%s:",
  (kind, checks) => {
    test.each(Object.entries(checks))(
      "the cost of %s is linear",
      async (name, [largest, make, run]) => {
        const growth = await growthOf(largest, make, run as (input: unknown) => unknown);
        const figures = growth.costs.map((ms) => ms.toFixed(1)).join(" ");
        process.stdout.write(
          `${kind}, ${name}: ${figures} ms; beyond ${growth.beyond.toFixed(1)} ms\n`,
        );
        expect({ growth, faults: growthFaults(growth, boundMs) }).toEqual({ growth, faults: [] });
      },
    );
  },
);

test("assembles the maximum number of parts of an answer in 200 ms", async () => {
  const { costs } = await growthOf(
    300,
    (n) => chunks(Math.min(n, 300), String),
    (all) => assembleMessage(null, mergeDeltas(all)),
  );
  expect(Math.max(...costs)).toBeLessThan(200);
});

describe("the linearity check", () => {
  const visit = (count: number) => {
    let sum = 0;
    for (let index = 0; index < count; index++) sum += index ^ (sum >>> 3);
    return sum;
  };
  const faultsOf = async (run: (size: number) => unknown) =>
    growthFaults(await growthOf(3_000, (size) => size, run), boundMs);

  test("detects a quadratic function", async () => {
    expect(await faultsOf((size) => visit(size * size))).toContain("grows faster than its input");
  });
  test("detects a quadratic pattern", async () => {
    const growth = await growthOf(
      16_000,
      (size) => " ".repeat(size) + "a",
      (text) => /\s+$/.test(text),
    );
    expect(growthFaults(growth, boundMs)).toContain("grows faster than its input");
  });
  test("detects a function that is quadratic only above its limit", async () => {
    expect(await faultsOf((size) => visit(size <= 3_000 ? 1_000 * size : size * size))).toEqual([
      "grows faster beyond its bound",
    ]);
  });
  test("accepts a linear function", async () => {
    expect(await faultsOf((size) => visit(2_000 * size))).toEqual([]);
  });
});
