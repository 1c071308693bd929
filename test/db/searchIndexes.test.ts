import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { sql } from "postgraphile/pg-sql2";
import type { SearchField, SearchTable } from "../../src/query/searchTable.ts";
import { listFields } from "../../src/query/searchTable.ts";
import { isOrdered } from "../../src/query/conditions.ts";
import { isTime } from "../../src/query/timeSql.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { createDatabase } from "../helpers/database.ts";
import { fillTables } from "../helpers/fillTables.ts";
import type { InProcess } from "../helpers/inProcess.ts";
import { makeInProcess } from "../helpers/inProcess.ts";
import type { PlanNode } from "../helpers/db/plans.ts";
import { hasRun, readPlans, logPlans } from "../helpers/db/plans.ts";

/*
 * Runs every search with a declared index, and every order of a connection, through the API on tables of some size, as
 * the request role under row-level security. auto_explain returns the executed plans. Searches and orders come from the
 * catalogue, so new columns are included.
 */

const rows = 5_000;
let database: TestDatabase;
let api: InProcess;
let permissions: string[];
/** The tables of `@connection`, by connection. Others have few rows, and their pages need no index. */
let connections: Map<string, SearchTable>;
/** The searches that an index serves, by table and column. */
let served: Map<string, Set<string>>;

beforeAll(async () => {
  database = await createDatabase();
  const { pool } = database;
  const client = await pool.connect();
  // The tables of connections, their related tables, and those that join tables lead to from these.
  const tables = await client.query<{ name: string }>(
    `with shown as (
       select c.oid from pg_class c where c.relnamespace = current_schema()::regnamespace and table_tags(c.oid) ? 'connection'
     ), near as (
       select oid from shown
       union select conrelid from pg_constraint k join shown s on s.oid = k.confrelid where contype = 'f'
       union select confrelid from pg_constraint k join shown s on s.oid = k.conrelid where contype = 'f'
     )
     select oid::regclass::text as name from near
     union select x.oid::regclass::text
     from pg_constraint p join pg_constraint k on k.conrelid = p.conrelid join pg_constraint l on l.conrelid = p.conrelid,
       unnest(array[p.conrelid, l.confrelid]) as x(oid)
     where p.contype = 'p' and k.contype = 'f' and l.contype = 'f' and k.confrelid in (select oid from near)
       and (k.conkey || l.conkey) @> p.conkey and p.conkey @> (k.conkey || l.conkey) and not k.conkey && l.conkey`,
  );
  await fillTables(
    client,
    tables.rows.map(({ name }) => name),
    rows,
  );
  // Each value of these columns would be common in tables of made-up rows. Without triggers, `updated_at` stays different
  // in each row.
  await client.query(
    `set session_replication_role = replica;
     update users set is_active = id in (select id from users order by id limit 5);
     update resources r set is_active = f.is_few, kind = case when f.is_few then 'ROOM' else 'VEHICLE' end::resource_kind
     from (select id, row_number() over (order by id) <= 5 as is_few from resources) as f where f.id = r.id;
     reset session_replication_role`,
  );
  await client.query("vacuum full analyze users, resources");
  const indexes = await client.query<{ column: string; serves: string[] }>(
    `select relation || '.' || attribute as column, array_agg(serves) as serves from indexed_searches() group by 1`,
  );
  served = new Map(indexes.rows.map(({ column, serves }) => [column, new Set(serves)]));
  const keys = await client.query<{ key: string }>("select key from permissions");
  permissions = keys.rows.map(({ key }) => key);
  await logPlans(client);
  client.release();
  api = await makeInProcess(database);
  const shown = await pool.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
     where relnamespace = current_schema()::regnamespace and table_tags(oid) ? 'connection'`,
  );
  const names = new Set(shown.rows.map(({ name }) => name));
  connections = new Map([...api.tables].filter(([, table]) => names.has(table.name)));
});
afterAll(async () => {
  await api.stop();
  await database.drop();
});

/** The executed plan for a page of a connection. */
async function plansOf(
  connection: string,
  args: string,
  variables?: object,
): Promise<PlanNode[][]> {
  api.notices();
  const declared = variables ? "query ($query: String)" : "";
  await api.ask(`${declared} { ${connection}(${args}) { nodes { id } } }`, permissions, variables);
  return readPlans(api.notices()).filter((nodes) =>
    nodes.some((node) => node["Relation Name"] === tableOf(connection).name),
  );
}

function tableOf(connection: string): SearchTable {
  const table = api.tables.get(connection);
  if (!table) throw new Error(`there is no connection ${connection}`);
  return table;
}

interface Case {
  connection: string;
  query: string;
  /** The columns whose indexes must be used. */
  columns: string[];
}

/** Why a search does not use its index; null when it does. */
async function problemOf({ connection, query, columns }: Case): Promise<string | null> {
  const plans = await plansOf(connection, "first: 50, query: $query", { query });
  const planned = plans[0] ?? [];
  const nodes = planned.filter(hasRun);
  const say = (problem: string) => `${connection} ${query}: ${problem}: ${summaryOf(nodes)}`;
  if (plans.length !== 1) return say(`${plans.length} statements`);
  const { name } = tableOf(connection);
  if (nodes.some((node) => node["Node Type"] === "Seq Scan" && node["Relation Name"] === name))
    return say("reads the whole table");
  if (!planned.some((node) => node["Parent Relationship"] === "InitPlan"))
    return say("asks no policy");
  const conditions = nodes.map((node) => node["Index Cond"] ?? "").join(" ");
  // A search that contradicts the policy reads no row.
  const readsNothing = nodes.length > 0 && nodes.every((node) => !node["Relation Name"]);
  if (readsNothing || reachesOwnRows(nodes)) return null;
  const missing = columns.filter((column) => !new RegExp(`\\b${column}\\b`).test(conditions));
  return missing.length === 0 ? null : say(`no index is asked for ${missing.join()}`);
}

/** Whether an index first finds the caller's own rows, as the policy requires; searches then read only these. */
function reachesOwnRows(nodes: readonly PlanNode[]): boolean {
  return nodes.some((node) => /\buser_id = \(InitPlan/.test(node["Index Cond"] ?? ""));
}

function summaryOf(nodes: readonly PlanNode[]): string {
  return nodes
    .map((node) => [node["Node Type"], node["Relation Name"], node["Index Cond"]].join(" ").trim())
    .join(", ");
}

const quoted = (value: string) => `"${value.replace(/["\\]/g, "\\$&")}"`;

/** The column whose index serves a field. */
function indexedColumnOf(field: SearchField): string {
  return field.within ? "search_words" : (columnOf(field) ?? "");
}

/** The column that a field reads; null for a computed field. */
function columnOf(field: SearchField): string | null {
  const { text } = sql.compile(field.read(sql.identifier("row")));
  return /"row"\."(\w+)"/.exec(text)?.[1] ?? null;
}

type Values = Record<"low" | "high" | "rare", string>;

/** The values of columns, which many connections reach through their relations. */
const valuesOfColumns = new Map<string, Promise<Values | undefined>>();

/** @param value the column, or an element of it */
function valuesOf(table: string, value: string): Promise<Values | undefined> {
  const key = `${table}.${value}`;
  const known = valuesOfColumns.get(key);
  if (known) return known;
  const found = database.pool
    .query<Values>(
      `select (array_agg(v order by place))[1] as low, (array_agg(v order by place desc))[1] as high,
         (array_agg(v order by n, place desc))[1] as rare
       from (select v, n, row_number() over (order by o) as place
         from (select ${value}::text as v, ${value} as o, count(*) as n from ${table}
           where ${value} is not null group by 1, 2) as g) as p having count(*) > 0`,
    )
    .then(({ rows }) => rows[0]);
  valuesOfColumns.set(key, found);
  return found;
}

/** Queries for a field, each with few matching rows. */
async function queriesOf(table: SearchTable, name: string, field: SearchField): Promise<string[]> {
  const column = columnOf(field);
  const serves = (column !== null && served.get(`${table.name}.${column}`)) || new Set();
  if (column === null || serves.size === 0) return [];
  const one = field.list ? `("${column}")[1]` : `"${column}"`;
  const values = await valuesOf(table.name, one);
  // Without a value in any row there is nothing to search for.
  if (!values) return [];
  const shown = (value: string) =>
    quoted([...(field.values ?? [])].find(([, stored]) => stored === value)?.[0] ?? value);
  const time = (value: string) =>
    isTime(field.kind)
      ? quoted(
          new Date(
            `${value.replace(" ", "T")}${/^\S+$/.test(value) ? "T00:00Z" : ":00"}`,
          ).toISOString(),
        )
      : shown(value);
  const [low, high, rare] = [time(values.low), time(values.high), time(values.rare)];
  return [
    ...(serves.has("value") || serves.has("element")
      ? [`${name}:${rare}`, `${name}:IN(${rare})`]
      : []),
    ...(serves.has("value") && field.kind === "text" ? [`${name}:IN(${rare}, nobody)`] : []),
    ...(serves.has("beginning") ? [`${name}:${shown(values.rare.slice(0, 8))}*`] : []),
    ...(serves.has("order") && isOrdered(field.kind)
      ? [
          `${name}:>${high}`,
          `${name}:>=${high}`,
          `${name}:<${low}`,
          `${name}:<=${low}`,
          `${name}:[${high} TO ${high}]`,
        ]
      : []),
  ];
}

/** The table of a field's full name. */
function tableOfField(table: SearchTable, name: string): SearchTable {
  const relations = name.split(".").slice(0, -1);
  return relations.reduce((at, step) => at.relations.get(step)?.table() ?? at, table);
}

/** All indexed searches of the fields in `searchFields`, for each connection, including related ones. */
async function allCases(): Promise<Case[]> {
  const cases: Case[] = [];
  for (const [connection, table] of connections) {
    for (const { name, field } of listFields(table))
      for (const query of await queriesOf(tableOfField(table, name), name, field))
        cases.push({ connection, query, columns: [indexedColumnOf(field)] });
    const words = [...table.fields.values()].filter(({ word }) => word);
    // In some tables, words without a field search nothing.
    if (words.length === 0) continue;
    const [first = "", ...others] = words.map((field) => columnOf(field) ?? "");
    const columns = table.words ? ["search_words"] : [first, ...others];
    const { rows: found } = await database.pool.query<{ v: string }>(
      `select "${first}" as v from ${table.name} limit 1`,
    );
    const word = found[0]?.v ?? "";
    for (const query of [word.slice(2, 9), `${word.slice(0, 8)}*`, "xq", "q"])
      cases.push({ connection, query, columns });
  }
  return cases;
}

describe("the indexes of connections", () => {
  test("serve every search that they declare", async () => {
    const cases = await allCases();
    expect(cases.length).toBeGreaterThan(400);
    expect(cases.filter(({ query }) => /^\w+\.\w+\.\w+:/.test(query)).length).toBeGreaterThan(50);
    expect(new Set(cases.map(({ connection }) => connection))).toEqual(new Set(connections.keys()));
    const problems: string[] = [];
    for (const one of cases) {
      const problem = await problemOf(one);
      if (problem !== null) problems.push(problem);
    }
    expect(problems).toEqual([]);
  });

  test("serve every value of orderBy", async () => {
    // A page is read with a power of two of rows. The handbook has hardly more.
    const rowsOfPage = 16;
    const problems: string[] = [];
    let asked = 0;
    for (const [connection, { name }] of connections) {
      const { __schema } = await api.ask(
        `{ __schema { queryType { fields { name args { name type { ofType { ofType { enumValues { name } } } } } } } } }`,
        [],
      );
      const field = __schema.queryType.fields.find(
        (one: { name: string }) => one.name === connection,
      );
      const { type } = field.args.find((arg: { name: string }) => arg.name === "orderBy");
      for (const order of type.ofType.ofType.enumValues as { name: string }[])
        for (const part of ["first: 5", "last: 5"]) {
          asked++;
          const [planned = []] = await plansOf(connection, `${part}, orderBy: [${order.name}]`);
          const nodes = planned.filter(hasRun);
          const isWhole = nodes.some(
            (node) =>
              (node["Relation Name"] === name && node["Node Type"] === "Seq Scan") ||
              // The rows of a page that were found in the order of an index are sorted again.
              (node["Node Type"] === "Sort" && (node.inputRows ?? 0) > rowsOfPage),
          );
          if ((isWhole && !reachesOwnRows(nodes)) || nodes.length === 0)
            problems.push(`${connection} ${order.name}: ${summaryOf(nodes)}`);
        }
    }
    expect(asked).toBeGreaterThan(40);
    expect(problems).toEqual([]);
  });

  test("are required by the check", async () => {
    await database.pool.query(
      "drop index products_country_search_idx, products_vintage_idx, products_vintage_name_idx",
    );
    expect(
      await problemOf({ connection: "products", query: "country:vx", columns: ["country"] }),
    ).not.toBeNull();
    expect(
      await problemOf({ connection: "products", query: "vintage:>9999", columns: ["vintage"] }),
    ).not.toBeNull();
  });
});
