import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  type ExecutionResult,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from "graphql";
import type pg from "pg";
import { makeSchema } from "postgraphile";
import { grafast } from "postgraphile/grafast";
import type { Identity } from "../../src/auth/identity.ts";
import { readConfig } from "../../src/config.ts";
import { poolFor } from "../../src/database.ts";
import { makePreset } from "../../src/graphile.config.ts";
import { createLog } from "../../src/log.ts";
import { seed } from "../db/accessSeed.ts";
import { allPermissions } from "../helpers/apiToken.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type RootField, rootFields } from "./rootFields.ts";

let database: TestDatabase;
let pool: pg.Pool;
let keys: string[];
let schema: GraphQLSchema;
let resolvedPreset: GraphileConfig.ResolvedPreset;
let fields: RootField[];

beforeAll(async () => {
  database = await createDatabase();
  await database.pool.query(seed);
  keys = await allPermissions(database);
  pool = poolFor(database.url, "office_server", 4);
  const preset = makePreset({
    config: readConfig({}),
    pool,
    area: "backoffice",
    areas: null,
    constraints: new Map(),
    log: createLog("silent"),
  });
  fields = rootFields((await makeSchema(preset)).schema);
  ({ schema, resolvedPreset } = await makeSchema({
    ...preset,
    plugins: preset.plugins?.filter((plugin) => plugin.name !== "GuardsPlugin") ?? [],
  }));
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** A caller whom the database does not know, so that nothing is their own. */
const caller = (permissions: readonly string[], scoped: boolean): Identity => ({
  userId: randomUUID(),
  sessionId: null,
  tokenId: null,
  permissions: new Set(permissions),
  scoped,
});

/** Everything of a type to a certain depth, so that a row that comes cannot hide. */
function selection(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return "";
  const inner = Object.values((named as GraphQLObjectType).getFields())
    .filter((field) => !field.args.some(isRequiredArgument))
    .map((field) => {
      if (isLeafType(getNamedType(field.type))) return field.name;
      const deeper = depth > 0 ? selection(field.type, depth - 1) : "";
      return deeper && `${field.name} ${deeper}`;
    })
    .filter(Boolean);
  return inner.length > 0 ? `{ ${inner.join(" ")} }` : "";
}

/** The same field with the ids of rows that exist, wherever a table has the name of what is asked for. */
async function withRealIds(field: RootField, type: GraphQLOutputType): Promise<RootField> {
  const variables = { ...field.variables };
  for (const name of Object.keys(variables)) {
    const thing =
      name === "id"
        ? (/^(?:delete|revoke|update|resend)(\w+)$/.exec(field.name)?.[1] ??
          getNamedType(type).name)
        : name;
    const table = `${thing.replace(/Id$/, "").replace(/(?<!^)([A-Z])/g, "_$1")}s`.toLowerCase();
    const { rows } = await database.pool.query<{ known: boolean }>(
      "select to_regclass($1) is not null as known",
      [table],
    );
    if (!/^id$|Id$/.test(name) || !rows[0]?.known) continue;
    const found = await database.pool.query<{ id: string }>(`select id from ${table} limit 1`);
    variables[name] = found.rows[0]?.id ?? variables[name];
  }
  return { ...field, variables };
}

async function run(field: RootField, identity: Identity | null): Promise<ExecutionResult> {
  const root = field.kind === "query" ? schema.getQueryType() : schema.getMutationType();
  const type = root?.getFields()[field.name]?.type;
  if (!type) throw new Error(`There is no ${field.name}`);
  const { document, variables } = await withRealIds(field, type);
  const office = {
    identity,
    area: "backoffice",
    testRunId: null,
    correlationId: "test",
    ipAddress: "192.0.2.1",
    userAgent: "jest",
  };
  const result = await grafast({
    schema,
    source: document.replace("{ __typename }", selection(type, 2)),
    variableValues: variables,
    resolvedPreset,
    requestContext: { expressv4: { res: { locals: { office } } } } as never,
  });
  if (Symbol.asyncIterator in result) throw new Error("An answer in parts is not expected");
  return result;
}

/** The ids of rows, and the counts that are not zero, anywhere in an answer. */
function rowsIn(value: unknown, name = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => rowsIn(item, name));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => rowsIn(inner, key));
  // Aggregates count ids, too: a count of none shows nothing.
  if (typeof value === "string" && name === "id" && value !== "0") return [`id ${value}`];
  const counts = /count|total$|^orders/i.test(name);
  return typeof value === "number" && counts && value > 0 ? [`${name} ${value}`] : [];
}

async function fingerprint(): Promise<Record<string, string>> {
  const { rows } = await database.pool.query<{ name: string; print: string }>(
    `select c.relname as name, (xpath('/row/p/text()', query_to_xml(format(
       'select count(*) || '':'' || coalesce(sum(hashtext(t::text)::bigint), 0) as p from %s t', c.oid::regclass
     ), false, true, '')))[1]::text as print
     from pg_class c where c.relnamespace = 'backoffice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  return Object.fromEntries(rows.map((row) => [row.name, row.print]));
}

async function changedSince(before: Record<string, string>): Promise<string[]> {
  const after = await fingerprint();
  return Object.keys({ ...before, ...after })
    .filter((table) => after[table] !== before[table])
    .sort();
}

/** Asks each mutation for nobody, for a token without permissions, and for those who lack one of the permissions only. */
async function tryAll(mutations: readonly RootField[]): Promise<void> {
  for (const field of mutations) {
    const needed = typeof field.guard === "string" ? [] : field.guard;
    const lacking = needed.flatMap((missing) => {
      const rest = keys.filter((key) => key !== missing);
      return [caller(rest, false), caller(rest, true)];
    });
    for (const identity of [null, caller([], true), ...lacking]) await run(field, identity);
  }
}

describe("With the guards of the root fields switched off", () => {
  test("no row comes to whoever holds nothing: nobody, a login, a token whose scopes are gone", async () => {
    const seen: string[] = [];
    const queries = fields.filter(({ kind, guard }) => kind === "query" && guard !== "public");
    expect(queries.length).toBeGreaterThan(20);
    for (const field of queries)
      for (const identity of [null, caller([], false), caller([], true)]) {
        const { data } = await run(field, identity);
        seen.push(...rowsIn(data).map((row) => `${field.name}: ${row}`));
      }
    expect(seen).toEqual([]);
  }, 120_000);

  test("nothing is written for whoever lacks one of the permissions, with a login or a token", async () => {
    const before = await fingerprint();
    const mutations = fields.filter(({ kind, guard }) => kind === "mutation" && guard !== "public");
    expect(mutations.length).toBeGreaterThan(20);
    await tryAll(mutations);
    expect(await changedSince(before)).toEqual([]);
  }, 120_000);
});

describe("The check without guards", () => {
  test("finds the rows that a caller may read, and the writes that one may make", async () => {
    const named = (name: string) => fields.filter((field) => field.name === name);
    for (const field of named("users"))
      expect(rowsIn((await run(field, caller(["users.read"], true))).data).length).toBeGreaterThan(
        3,
      );
    const before = await fingerprint();
    for (const field of named("deleteAllCampaigns"))
      await run(field, caller(["campaigns.delete"], true));
    expect(await changedSince(before)).toEqual(expect.arrayContaining(["audit_log", "campaigns"]));
  });

  test("finds a policy that lets everyone write", async () => {
    await database.pool.query(
      "create policy planted on wine_types for update to office_api using (true) with check (true)",
    );
    const before = await fingerprint();
    await tryAll(fields.filter((field) => field.name === "updateWineType"));
    expect(await changedSince(before)).toEqual(["audit_log", "wine_types"]);
  });
});
