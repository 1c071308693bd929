import fc from "fast-check";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A request that succeeds. */
export interface ValidRequest {
  query: string;
  variables?: Json;
  operationName?: string;
}

/** A request with one change. */
export interface Mutation {
  headers: Record<string, string>;
  body: Buffer;
}

const strange: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    2 ** 31,
    "",
    " ",
    "\u0000",
    "\ud800",
    "\u202e",
    "__proto__",
    "constructor",
    "null",
    "NaN",
    "infinity",
    "2026-02-30T00:00:00Z",
    "'; drop table users; --",
    "%s%n",
    "${1}",
    "../../etc/passwd",
    "\\u0000",
    '"',
    "\\",
    "[",
    "{",
    [],
    {},
    [null],
    { "": 1 },
    JSON.parse(`{"__proto__":{"title":"x"}}`) as Json,
    "00000000-0000-0000-0000-000000000000",
    "a".repeat(5_000),
    "*",
    "name:",
    "IN(",
    "🍷",
  ),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 40 }),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.integer(),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }).map((value) => value as Json),
);

/** All paths in a value, as lists of keys. */
function places(value: Json, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  const keys: (string | number)[] = Array.isArray(value)
    ? value.map((_item, index) => index)
    : Object.keys(value);
  return [
    path,
    ...keys.flatMap((key) =>
      places((value as Record<string | number, Json>)[key] ?? null, [...path, key]),
    ),
  ];
}

function replaced(value: Json, path: (string | number)[], by: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return by;
  const copy = structuredClone(value) as Record<string | number, Json>;
  copy[key] = replaced(copy[key] ?? null, rest, by);
  return copy;
}

const choices = fc.record({
  which: fc.nat(),
  where: fc.nat(),
  value: strange,
  cut: fc.tuple(fc.nat(), fc.nat({ max: 12 })),
  patch: fc.constantFrom(
    "",
    "{",
    "}",
    "(",
    "$",
    "@",
    "...",
    '"',
    "#",
    "null",
    "on",
    ":",
    "!",
    "[",
    "__typename ",
    "\\u0000",
    "1e999",
    "é",
    "\u0000",
  ),
  byte: fc.nat({ max: 255 }),
  kind: fc.constantFrom(
    "variable",
    "variable",
    "variable",
    "variable",
    "part",
    "query",
    "query",
    "byte",
  ),
  header: fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "x-correlation-id",
        "x-test-run-id",
        "authorization",
        "accept",
        "user-agent",
        "x-forwarded-for",
      ),
    },
  ),
  headerValue: fc.string({ unit: "grapheme-ascii", maxLength: 50 }),
});

/** Changes a value, a piece of the query or a byte of the body of one request, and sometimes a header. */
export function mutationsOf(requests: readonly ValidRequest[]): fc.Arbitrary<Mutation> {
  return choices.map((choice) => {
    const original = requests[choice.which % requests.length] ?? { query: "" };
    const headers = choice.header ? { [choice.header]: choice.headerValue } : {};
    return { headers, body: mutate(original, choice) };
  });
}

type Choice = typeof choices extends fc.Arbitrary<infer T> ? T : never;

function mutate(original: ValidRequest, choice: Choice): Buffer {
  const asBody = (value: unknown) => Buffer.from(JSON.stringify(value));
  if (choice.kind === "byte") {
    const body = asBody(original);
    body[choice.where % body.length] = choice.byte;
    return body;
  }
  if (choice.kind === "query") {
    const [at, length] = choice.cut;
    const from = at % original.query.length;
    const query =
      original.query.slice(0, from) + choice.patch + original.query.slice(from + length);
    return asBody({ ...original, query });
  }
  // An interface without an index signature is not assignable to Json.
  const whole = original as unknown as Json;
  const all =
    choice.kind === "variable" && original.variables !== undefined
      ? places(original.variables, ["variables"])
      : places(whole);
  return asBody(replaced(whole, all[choice.where % all.length] ?? [], choice.value));
}
