import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type GraphQLField,
  type GraphQLInputType,
  buildSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
} from "graphql";
import { type Service, startService } from "../helpers/service.ts";

const schema = buildSchema(
  readFileSync(path.resolve(import.meta.dirname, "../../schema.graphql"), "utf8"),
);
const id = "00000000-0000-7000-8000-0000000000ff";
const valid: Record<string, unknown> = {
  ID: id,
  Int: 1,
  Float: 1,
  Boolean: true,
  DateTime: "2026-09-01T08:00:00.000Z",
  JSON: {},
};
const wrong: Record<string, unknown[]> = {
  ID: ["", "none", `${id}0`, id],
  Int: [-1, 0, 2_147_483_647, 1.5, "1"],
  Float: ["1", true],
  Boolean: ["true", 0],
  DateTime: ["tomorrow", "2026-02-30T00:00:00Z", "2026-01-31", "+300000-01-01T00:00:00Z", 1],
  JSON: [],
};
const wrongTexts = ["", " ", "a\u0000b", "\ud800", "a\u202eb", "x".repeat(20_000), 1];

let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService({ env: { LOG_LEVEL: "error", REQUESTS_PER_MINUTE: "1000000" } });
  const { rows } = await service.database.pool.query<{ key: string }>(
    "select key from permissions",
  );
  ({ token } = await service.login(rows.map(({ key }) => key)));
});
afterAll(() => service.stop());

type Path = (string | number)[];

/** A valid value with every field, three levels deep. */
function wellFormed(type: GraphQLInputType, depth = 0): unknown {
  if (isNonNullType(type)) return wellFormed(type.ofType, depth);
  if (isListType(type)) return [wellFormed(type.ofType, depth)];
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (isInputObjectType(type))
    return Object.fromEntries(
      Object.values(type.getFields())
        .filter(({ type: inner }) => depth < 3 || isNonNullType(inner))
        .map((field) => [field.name, wellFormed(field.type, depth + 1)]),
    );
  return valid[type.name] ?? "1";
}

/** Every leaf of a valid value with invalid values for it. */
function* wrongLeaves(
  type: GraphQLInputType,
  value: unknown,
  at: Path,
): Generator<[Path, unknown]> {
  if (isNonNullType(type)) yield* wrongLeaves(type.ofType, value, at);
  else if (isListType(type)) {
    const [first] = value as unknown[];
    yield* wrongLeaves(type.ofType, first, [...at, 0]);
  } else if (isInputObjectType(type))
    for (const field of Object.values(type.getFields())) {
      const inner = (value as Record<string, unknown>)[field.name];
      if (inner !== undefined) yield* wrongLeaves(field.type, inner, [...at, field.name]);
    }
  else if (isEnumType(type)) yield [at, "WRONG"];
  else for (const one of wrong[getNamedType(type).name] ?? wrongTexts) yield [at, one];
}

function put(value: unknown, [key, ...rest]: Path, leaf: unknown): unknown {
  if (key === undefined) return leaf;
  if (Array.isArray(value)) return [put(value[0], rest, leaf)];
  const before = value as Record<string | number, unknown>;
  return { ...before, [key]: put(before[key], rest, leaf) };
}

const roots = [
  ...Object.values(schema.getQueryType()?.getFields() ?? {}).map((field) => ["query", field]),
  ...Object.values(schema.getMutationType()?.getFields() ?? {}).map((field) => ["mutation", field]),
] as ["query" | "mutation", GraphQLField<unknown, unknown>][];

test("every error about an argument names its path", async () => {
  const nameless: string[] = [];
  let errors = 0;
  for (const [kind, field] of roots) {
    if (field.args.length === 0) continue;
    const declared = field.args.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(", ");
    const passed = field.args.map((arg) => `${arg.name}: $${arg.name}`).join(", ");
    const selection = isLeafType(getNamedType(field.type)) ? "" : " { __typename }";
    const query = `${kind} (${declared}) { ${field.name}(${passed})${selection} }`;
    const names = new Set(field.args.map(({ name }) => name));
    const whole = Object.fromEntries(field.args.map((arg) => [arg.name, wellFormed(arg.type)]));
    const leaves = field.args.flatMap((arg) => [
      ...wrongLeaves(arg.type, whole[arg.name], [arg.name]),
    ]);
    const answers = await Promise.all(
      leaves.map(([at, leaf]) =>
        service.ask(query, { token, variables: put(whole, at, leaf) as Record<string, unknown> }),
      ),
    );
    for (const { message, extensions } of answers.flatMap((answer) => answer.errors ?? [])) {
      if (!["BAD_USER_INPUT", "NOT_FOUND"].includes(extensions.code)) continue;
      errors++;
      const named = extensions.path;
      if (!Array.isArray(named) || !names.has(String(named[0])))
        nameless.push(`${field.name}: ${message.slice(0, 100)}`);
    }
  }
  expect(nameless).toEqual([]);
  expect(errors).toBeGreaterThan(1_000);
});
