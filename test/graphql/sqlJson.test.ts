import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isEnumType,
  isLeafType,
  isObjectType,
  parse,
} from "graphql";
import { settingsOf, type RequestInfo } from "../../src/auth/identity.ts";
import { makeWithRequestClient, type WithRequestClient } from "../../src/postgres/service.ts";
import { collectText } from "../../src/postgres/textAnswer.ts";
import { compileCall } from "../../src/sqlJson/compileCall.ts";
import { type CompiledRead, prepareRead } from "../../src/sqlJson/compileRead.ts";
import { sqlJsonFieldOf } from "../../src/sqlJson/sqlJsonField.ts";
import { coerceVariables } from "../../src/graphql/coerceVariables.ts";
import { applySkipInclude } from "../../src/graphql/applySkipInclude.ts";
import { propertyRuns, propertyTimeoutMs } from "../helpers/propertyRuns.ts";
import { seedDatabase } from "../../dev/access/seed.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";

let database: TestDatabase;
let alone: GrafastAlone;
let schema: GraphQLSchema;
let withClient: WithRequestClient;
let keys: string[];

beforeAll(async () => {
  database = await createDatabase();
  await seedDatabase(database.pool);
  const client = await database.pool.connect();
  await client.query(`
    update products set name = E'Quoted "name" \\\\ \\u00e9 \\U0001F377 </script>', vintage = 1999,
      description = E'line\\nbreak\\r\\t tab "\\u2028', alcohol_percent = 12.50, created_at = '2024-02-29 23:59:59.999999+01'
    where erp_product_number = '1';
    insert into products (erp_product_number, name, vintage, stock_quantity)
    select 'P' || n, 'Wine ' || n % 3, 1990 + n % 4, n from generate_series(1, 12) as n`);
  const { rows } = await client.query<{ key: string }>("select key from permissions");
  keys = rows.map(({ key }) => key);
  client.release();
  alone = await makeGrafastAlone(database);
  ({ schema } = alone);
  withClient = makeWithRequestClient(alone.pool, 100);
});
afterAll(async () => {
  await alone.stop();
  await database.drop();
});

const callerWith = (permissions: readonly string[]) => requestOf(sessionWith(permissions));

const byGrafast: GrafastAlone["answer"] = (...asked) => alone.answer(...asked);

/** The cache of compiled statements, as in a server. */
const compiled = new Map<string, CompiledRead | null>();

function statementOf(source: string, variables: Record<string, unknown> = {}) {
  const whole = parse(source);
  const operation = getOperationAST(whole);
  const document = operation && applySkipInclude(whole, operation, variables)?.document();
  const coerced = operation && coerceVariables(schema, operation, variables);
  const asked =
    document && coerced && prepareRead(schema, document, null)?.prepare(variables, coerced);
  if (!asked) return null;
  const known = compiled.get(asked.key) ?? asked.compile();
  compiled.set(asked.key, known);
  return known && known.statementFor(asked.given);
}

/** The result of the statement; undefined when the selection is unsupported or the statement fails. */
async function directly(
  source: string,
  requestContext: RequestInfo,
  variables: Record<string, unknown> = {},
): Promise<unknown> {
  const statement = statementOf(source, variables);
  if (!statement) return undefined;
  const settings = settingsOf(requestContext, {
    statementTimeoutMs: 10_000,
    invitationDays: 7,
    exportMaxProducts: 1,
    searchPrefix: "",
  });
  const gathered = collectText(statement);
  try {
    await withClient(settings, (client) => client.query(gathered.statement));
  } catch (error) {
    if (error instanceof Error && error.message.startsWith("A required row")) return undefined;
    throw error;
  }
  const text = gathered.text();
  const whole = typeof text === "string" ? text : Buffer.concat(text).toString();
  return JSON.parse(whole || "null") as unknown;
}

/** Random selections of a type that the SQL-JSON path supports, as text. */
function selections(type: GraphQLObjectType, depth: number): fc.Arbitrary<string> {
  const leaves: string[] = ["__typename"];
  const branches: [GraphQLField<unknown, unknown>, GraphQLObjectType][] = [];
  for (const field of Object.values(type.getFields())) {
    const direct = sqlJsonFieldOf(field.extensions);
    const inner = getNamedType(field.type);
    if (direct?.kind === "value") leaves.push(field.name);
    else if (direct && isObjectType(inner)) branches.push([field, inner]);
  }
  const leaf = fc.constantFrom(...leaves);
  const branch =
    depth === 0 || branches.length === 0
      ? leaf
      : fc.constantFrom(...branches).chain(([field, inner]) => nested(field, inner, depth - 1));
  const one = fc.oneof({ weight: 3, arbitrary: leaf }, { weight: 2, arbitrary: branch });
  // Only Grafast records the read of a nested row without its id.
  const id = leaves.includes("id") ? ["id"] : [];
  return fc.array(one, { minLength: 1, maxLength: 6 }).map((parts) =>
    // Aliases separate two fields of the same name.
    [
      ...id,
      ...parts.map((part, index) =>
        index % 2 === 0 ? `a${index}: ${part}` : `... { b${index}: ${part} }`,
      ),
    ].join(" "),
  );
}

/** A field of related rows, with a limit, or as a page. */
function nested(
  field: GraphQLField<unknown, unknown>,
  type: GraphQLObjectType,
  depth: number,
): fc.Arbitrary<string> {
  const kind = sqlJsonFieldOf(field.extensions)?.kind;
  const isPage = kind === "page";
  const nodes = type.getFields()["nodes"];
  const row = isPage && nodes ? (getNamedType(nodes.type) as GraphQLObjectType) : type;
  const isPart = isPage || (kind === "list" && field.args.length > 0);
  const sizes = ["", "(first: 0)", "(first: 2)", "(first: 1, offset: 1)"];
  const pageSizes = ["(includeTotalCount: true)", "(first: 2, includeTotalCount: true)"];
  return fc
    .tuple(
      selections(row, depth),
      fc.constantFrom(...(isPart ? sizes : [""]), ...(isPage ? pageSizes : [])),
      fc.subarray(pageMembers, { maxLength: isPage ? 3 : 0 }),
      fc.constantFrom("nodes", "edges", "none"),
    )
    .map(([inside, size, members, list]) => {
      if (!isPage) return `${field.name}${size} { ${inside} }`;
      const rows = list === "edges" ? `edges { node { ${inside} } }` : `nodes { ${inside} }`;
      const shown = list === "none" && members.length > 0 ? members : [rows, ...members];
      return `${field.name}${size} { ${shown.join(" ")} }`;
    });
}

function documents(): fc.Arbitrary<string> {
  const roots = Object.values(schema.getQueryType()?.getFields() ?? {}).filter((field) =>
    ["list", "page"].includes(sqlJsonFieldOf(field.extensions)?.kind ?? ""),
  );
  return fc.constantFrom(...roots).chain((field) => {
    const type = getNamedType(field.type) as GraphQLObjectType;
    const isPage = sqlJsonFieldOf(field.extensions)?.kind === "page";
    const nodes = type.getFields()["nodes"];
    const row = isPage && nodes ? (getNamedType(nodes.type) as GraphQLObjectType) : type;
    const order = getNamedType(field.args.find(({ name }) => name === "orderBy")?.type);
    const orders = isEnumType(order) ? order.getValues().map(({ name }) => name) : [];
    const orderBy =
      orders.length === 0
        ? fc.constant("")
        : fc
            .array(fc.constantFrom(...orders), { maxLength: 2 })
            .map((list) => `orderBy: [${list.join(", ")}]`);
    const sizes = ["", "first: 0", "first: 1", "first: 5", "first: 3, offset: 1"];
    const size = fc.constantFrom(...sizes);
    const rest = fc.record({
      counted: fc.constantFrom("", "includeTotalCount: true", "includeTotalCount: false"),
      members: fc.subarray(pageMembers),
      hasNodes: fc.boolean(),
      isEdges: fc.boolean(),
    });
    return fc
      .tuple(selections(row, 2), orderBy, size, rest)
      .map(([inside, by, part, { counted, members, hasNodes, isEdges }]) => {
        const args = [by, part, ...(isPage ? [counted] : [])].filter(Boolean).join(", ");
        const rows = isEdges
          ? `edges { c: cursor node { ${inside} } __typename }`
          : `nodes { ${inside} }`;
        const nodes = hasNodes || members.length === 0 ? [rows] : [];
        const wanted = isPage ? [...nodes, ...members].join(" ") : inside;
        return `{ ${field.name}${args ? `(${args})` : ""} { ${wanted} } }`;
      });
  });
}

/** The fields of a page besides its rows. */
const pageMembers = [
  "totalCount",
  "__typename",
  "pageInfo { hasNextPage }",
  "info: pageInfo { hasPreviousPage more: hasNextPage __typename }",
  "ends: pageInfo { startCursor endCursor }",
  "last: pageInfo { endCursor }",
  "each: edges { cursor }",
];

/** Pages that start at a row of their list. */
interface CursorCase {
  /** Returns the cursors of the list. */
  all: string;
  /** The start position as a fraction of the list. */
  after: number | null;
  document: string;
}

/** The id field of a connection's rows, or their first scalar field. */
function keyOfRows(connection: GraphQLOutputType): string {
  const page = getNamedType(connection);
  const nodes = isObjectType(page) ? page.getFields()["nodes"] : undefined;
  const row = nodes && getNamedType(nodes.type);
  const fields = isObjectType(row) ? Object.values(row.getFields()) : [];
  const values = fields.filter(({ type }) => isLeafType(getNamedType(type)));
  return (values.find(({ name }) => name === "id") ?? values[0])?.name ?? "__typename";
}

function pagesByCursor(): fc.Arbitrary<CursorCase> {
  const names = Object.values(schema.getQueryType()?.getFields() ?? {})
    .filter((field) => sqlJsonFieldOf(field.extensions)?.kind === "page")
    .map((field) => {
      const order = getNamedType(field.args.find(({ name }) => name === "orderBy")?.type);
      const orders = isEnumType(order) ? order.getValues().map(({ name }) => name) : [];
      return { name: field.name, orders, key: keyOfRows(field.type) };
    });
  const share = fc.option(fc.constantFrom(0, 0.2, 0.5, 0.8, 1));
  return fc.constantFrom(...names).chain(({ name, orders, key }) =>
    fc
      .record({
        by: fc.array(fc.constantFrom(...orders), { maxLength: 3 }),
        query: fc.constantFrom("", `, query: "a"`, `, query: "1991 OR 1 OR wine"`),
        size: fc.constantFrom(
          ...["", "first: 0", "first: 2", "first: 4, offset: 1", "offset: 2", "first: 250"],
        ),
        after: share,
        members: fc.subarray([`nodes { ${key} }`, "edges { cursor }", ...pageMembers], {
          minLength: 1,
        }),
      })
      .map(({ by, query, size, after, members }) => {
        const order = `orderBy: [${by.join(", ")}]${query}`;
        return {
          all: `{ list: ${name}(${order}, first: 250) { edges { cursor } } }`,
          after,
          document: `query ($after: Cursor) {
            ${name}(${order}, ${size}, after: $after, includeTotalCount: true) { ${members.join(" ")} } }`,
        };
      }),
  );
}

describe("a read by the SQL-JSON path", () => {
  test(
    "returns the same as Grafast for random selections and orders",
    async () => {
      const everything = callerWith(keys);
      let direct = 0;
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(documents(), async (document) => {
          runs++;
          const answer = await directly(document, everything);
          if (answer === undefined) return;
          direct++;
          expect({ data: answer }).toEqual(await byGrafast(document, everything, {}));
        }),
        propertyRuns(200),
      );
      // Few selections are left to Grafast.
      expect(direct / runs).toBeGreaterThan(0.9);
    },
    propertyTimeoutMs,
  );

  test(
    "continues after Grafast's cursors, in random orders",
    async () => {
      const everything = callerWith(keys);
      let compared = 0;
      await fc.assert(
        fc.asyncProperty(pagesByCursor(), async ({ all, after, document }) => {
          const list = (await byGrafast(all, everything, {})).data as {
            list: { edges: { cursor: string }[] } | null;
          } | null;
          // Some tables reject word searches.
          if (!list?.list) return;
          const cursors = list.list.edges.map(({ cursor }) => cursor);
          const at = (share: number | null) =>
            share === null ? null : (cursors[Math.floor((cursors.length - 1) * share)] ?? null);
          const variables = { after: at(after) };
          const answer = await directly(document, everything, variables);
          compared++;
          expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
        }),
        propertyRuns(200),
      );
      // Many of the random lists are empty.
      expect(compared).toBeGreaterThan(40);
    },
    propertyTimeoutMs,
  );

  test(
    "shows a caller with few permissions no more than Grafast does",
    async () => {
      let compared = 0;
      const cases = fc.tuple(documents(), fc.subarray(keys));
      await fc.assert(
        fc.asyncProperty(cases, async ([document, some]) => {
          const requestContext = callerWith(some);
          const grafasts = await byGrafast(document, requestContext, {});
          const answer = await directly(document, requestContext);
          // Grafast reports a rejection, because the guard runs before the statement.
          if (grafasts.errors) {
            expect(answer ?? null).toBeNull();
            return;
          }
          if (answer === undefined) return;
          compared++;
          expect(answer).toEqual(grafasts.data);
        }),
        propertyRuns(150),
      );
      expect(compared).toBeGreaterThan(30);
    },
    propertyTimeoutMs,
  );

  test("accepts variables, and finds one row or none by id", async () => {
    const everything = callerWith(keys);
    const document = `query One($id: ID!, $size: Int = 2, $order: [ProductOrderBy!], $query: String) {
      product(id: $id) { id name vintage alcoholPercent createdAt updatedAt wineType { name color } }
      products(first: $size, orderBy: $order, query: $query) { nodes { ...Parts } }
    }
    fragment Parts on Product { name erpProductNumber stockQuantity isActive }`;
    for (const variables of [
      { id: "00000000-0000-7000-8000-00000000e001" },
      { id: "00000000-0000-7000-8000-00000000e0ff", size: 1, order: ["NAME_DESC"] },
      { id: "00000000-0000-7000-8000-00000000e002", size: null, query: "vintage:>1990" },
      { id: "00000000-0000-7000-8000-00000000e002", query: "campaign OR none" },
    ]) {
      const answer = await directly(document, everything, variables);
      expect(answer).toBeDefined();
      expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
    }
  });

  test("accepts variables as arguments of nested pages", async () => {
    const everything = callerWith(keys);
    const document = `query ($first: Int, $by: [ProductOrderBy!], $query: String, $after: Cursor, $counted: Boolean) {
      wineTypes { name products(first: $first, orderBy: $by, query: $query, after: $after, includeTotalCount: $counted) {
        totalCount edges { cursor node { name } } pageInfo { hasNextPage hasPreviousPage endCursor } } }
      wineType(id: "00000000-0000-7000-8000-00000000aaaa") { products { nodes { id } } }
    }`;
    const inOrder = "orderBy: [VINTAGE_DESC]";
    const { data } = await byGrafast(
      `{ wineTypes { products(${inOrder}) { edges { cursor } } } }`,
      everything,
      {},
    );
    const lists = (data as { wineTypes: { products: { edges: { cursor: string }[] } }[] })
      .wineTypes;
    const [cursor] = lists.flatMap(({ products }) => products.edges.map((edge) => edge.cursor));
    expect(cursor).toBeDefined();
    const before = compiled.size;
    for (const given of [
      {},
      { first: 2, by: ["VINTAGE_DESC"] },
      { first: 2, by: ["VINTAGE_DESC"], counted: true, query: "vintage:>1990" },
      { first: 2, by: ["VINTAGE_DESC"], counted: true, query: "vintage:>1991" },
      { first: 3, by: ["NAME_ASC", "VINTAGE_DESC"] },
    ])
      for (const after of given.by?.[0] === "VINTAGE_DESC" ? [null, cursor] : [null]) {
        const variables = { ...given, after };
        const answer = await directly(document, everything, variables);
        expect(answer).toMatchObject({ wineType: null });
        expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
      }
    // Different search values share a statement; a cursor needs another one.
    expect(compiled.size - before).toBe(6);
    const refused = { first: 1000 };
    expect(statementOf(document, refused)).toBeNull();
  });

  test("sorts by each column once, even when it is repeated", async () => {
    const everything = callerWith(keys);
    const document = `query ($by: [ProductOrderBy!], $after: Cursor) {
      products(orderBy: $by, first: 2, after: $after) { nodes { name vintage } pageInfo { endCursor } } }`;
    const by = [
      "VINTAGE_ASC",
      ...Array.from({ length: 200 }, (_one, n) => (n % 2 ? "NAME_DESC" : "VINTAGE_DESC")),
    ];
    const page = async (variables: Record<string, unknown>) => {
      const answer = await directly(document, everything, { ...variables });
      expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
      return (answer as { products: { nodes: unknown; pageInfo: { endCursor: string } } }).products;
    };
    const first = await page({ by });
    expect(await page({ by: ["VINTAGE_ASC", "NAME_DESC"] })).toEqual(first);
    const after = first.pageInfo.endCursor;
    expect((await page({ by, after })).nodes).not.toEqual(first.nodes);
    expect(statementOf(document, { by, after })?.text.length).toBeLessThan(10_000);
  });

  test("returns an infinite timestamp like Grafast, without omitting its row", async () => {
    const everything = callerWith(keys);
    const endless = "update products set created_at = $1 where erp_product_number = 'P9'";
    await database.pool.query(endless, ["infinity"]);
    try {
      const document = `{ products(orderBy: [CREATED_AT_DESC], first: 3) { edges { cursor node { name } } pageInfo { startCursor } } }`;
      const answer = await directly(document, everything);
      expect(answer).toMatchObject({ products: { edges: { length: 3 } } });
      expect({ data: answer }).toEqual(await byGrafast(document, everything, {}));
      // Left to Grafast, which reports the error.
      expect(await directly("{ products { nodes { createdAt } } }", everything)).toBeUndefined();
    } finally {
      await database.pool.query(endless, ["2024-03-01 12:00Z"]);
    }
  });

  test("does not prepare a statement for a searched page with its total", () => {
    const page = (args: string) => `{ products(${args}) { totalCount nodes { id } } }`;
    const name = (args: string) => statementOf(page(args))?.name;
    expect(name(`query: "vintage:1990", includeTotalCount: true`)).toBeUndefined();
    expect(name(`query: "vintage:1990"`)).toBeDefined();
    expect(name("includeTotalCount: true")).toBeDefined();
  });

  test("selects a repeated field once", async () => {
    const everything = callerWith(keys);
    const document = `query ($id: ID!, $first: Int) {
      users { id ...Name roles { id } ...Roles id }
      product(id: $id) { name } ...Product
      products(first: $first) { nodes { id } } products(first: $first) { nodes { name ...Wine } ...Page }
    }
    fragment Name on User { name id }
    fragment Roles on User { roles { name id permissions { key } } roles { permissions { id } } ...Name }
    fragment Product on Query { product(id: $id) { id name ...Wine } }
    fragment Wine on Product { wineType { name } wineType { color } }
    fragment Page on ProductConnection { nodes { vintage } }`;
    const variables = { id: "00000000-0000-7000-8000-00000000e001", first: 2 };
    const answer = await directly(document, everything, variables);
    expect(answer).toBeDefined();
    const expected = await byGrafast(document, everything, variables);
    expect(JSON.stringify({ data: answer })).toBe(JSON.stringify(expected));
  });

  test("omits skipped fields and does not require their permissions", async () => {
    const everything = callerWith(keys);
    const document = `query ($with: Boolean!, $without: Boolean = true, $id: ID!) {
      users @include(if: $with) { id name @skip(if: $without) ...Roles @include(if: $with) }
      product(id: $id) { id ... @skip(if: $with) { name vintage @include(if: $without) } wineType @skip(if: false) { name } }
    }
    fragment Roles on User { roles @include(if: true) { id name } }`;
    const id = "00000000-0000-7000-8000-00000000e001";
    for (const given of [
      { with: true },
      { with: false },
      { with: true, without: false },
      { with: false, without: false },
    ]) {
      const variables = { ...given, id };
      const answer = await directly(document, everything, variables);
      expect(answer).toBeDefined();
      expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
    }
    const onlyProducts = callerWith(["products.read"]);
    const variables = { with: false, id };
    const answer = await directly(document, onlyProducts, variables);
    expect(answer).toMatchObject({ product: { id } });
    expect({ data: answer }).toEqual(await byGrafast(document, onlyProducts, variables));
  });

  test("returns the total and hasNextPage with a query and an offset", async () => {
    const everything = callerWith(keys);
    const document = `query ($by: Int, $query: String, $counted: Boolean) {
      products(first: 3, offset: $by, query: $query, includeTotalCount: $counted) {
        __typename totalCount pageInfo { hasNextPage hasPreviousPage } nodes { __typename name }
      }
    }`;
    const query = "vintage:1991 OR vintage:1992";
    const seen = new Set<string>();
    for (const by of [null, 0, 2, 3, 4, 100])
      for (const given of [{}, { query }, { query, counted: true }, { counted: null }]) {
        const variables = { by, ...given };
        const answer = await directly(document, everything, variables);
        expect(answer).toMatchObject({ products: { __typename: "ProductConnection" } });
        expect({ data: answer }).toEqual(await byGrafast(document, everything, variables));
        const { products } = answer as {
          products: { totalCount: number | null; pageInfo: { hasNextPage: boolean } };
        };
        seen.add(`${products.totalCount} ${products.pageInfo.hasNextPage}`);
      }
    expect([...seen].sort()).toEqual(["6 false", "6 true", "null false", "null true"]);
    const twice = `{ products(offset: 1, includeTotalCount: true) {
      a: totalCount c: pageInfo { hasNextPage } d: pageInfo { e: hasNextPage f: hasNextPage } } }`;
    expect({ data: await directly(twice, everything) }).toEqual(
      await byGrafast(twice, everything, {}),
    );
    // One for the total, and one of the rows of the page.
    expect(statementOf(twice)?.text.match(/count\(\*\)/g)).toHaveLength(2);
    const audit = `{ auditLogs(input: { entityType: "Campaign", limit: 1 }) { __typename total items { __typename } } }`;
    expect({ data: await directly(audit, everything) }).toEqual(
      await byGrafast(audit, everything, {}),
    );
  });

  test("has one statement for all argument values, from variables or literals", async () => {
    const everything = callerWith(keys);
    const before = compiled.size;
    const page = (args: string) => `{ products(${args}) { nodes { name vintage stockQuantity } } }`;
    const withVariables = `query Page($by: Int, $query: String) ${page("first: 2, offset: $by, query: $query")}`;
    for (const offset of [0, 3, 4]) {
      for (const vintage of [1990, 1991, 1992, 1999]) {
        const query = `vintage:${vintage} OR stockQuantity:>=${vintage - 1985}`;
        const literal = page(`first: 2, offset: ${offset}, query: "${query}"`);
        const variables = { by: offset, query };
        for (const [document, given] of [
          [literal, {}],
          [withVariables, variables],
        ] as const) {
          const answer = await directly(document, everything, given);
          expect(answer).toBeDefined();
          expect({ data: answer }).toEqual(await byGrafast(document, everything, given));
        }
      }
    }
    // With and without an offset, by a named and an anonymous document.
    expect(compiled.size - before).toBe(4);
    const audit = (type: string) => `{ auditLogs(input: { entityType: "${type}" }) { total } }`;
    expect(statementOf(audit("User"))?.values).toContain("User");
    expect(statementOf(audit("Role"))?.values).toContain("Role");
    expect(compiled.size - before).toBe(5);
  });

  test("has another statement for another selection", () => {
    expect(statementOf("{ users { roles { id } } }")).not.toBeNull();
    expect(statementOf("{ users { roles(first: 1) { id } } }")).toBeNull();
    expect(statementOf("{ users(first: 2) { id } }")?.text).not.toBe(
      statementOf("{ users(offset: 2) { id } }")?.text,
    );
    expect(statementOf("{ users { id } }")?.text).not.toBe(
      statementOf("{ users(offset: 2) { id } }")?.text,
    );
  });

  test("supports pages of the audit log and mutations that call one function", () => {
    const page = `{ auditLogs(input: { entityType: "User" }) { items { id after } total limit } }`;
    expect(statementOf(page)).not.toBeNull();
    const create = (fields: string) => parse(`mutation ($i: CreateCampaignInput!) { ${fields} }`);
    const one = "createCampaign(input: $i) { id author { id roles { id } } }";
    expect(compileCall(schema, create(one), null)).not.toBeNull();
    // Grafast adds and removes the id by which the read is recorded.
    const cancel = (fields: string) =>
      parse(`mutation ($id: ID!) { cancelExportJob(id: $id) { ${fields} } }`);
    expect(compileCall(schema, cancel("id status"), null)).not.toBeNull();
    expect(compileCall(schema, cancel("status"), null)).toBeNull();
    expect(compileCall(schema, create(`${one} logout`), null)).toBeNull();
    expect(compileCall(schema, parse("mutation { logout }"), null)).toBeNull();
  });

  test.each([
    ["a selection of which nothing is left", "{ users { id @skip(if: true) } }"],
    ["a condition without a value", "query ($a: Boolean) { users { id name @skip(if: $a) } }"],
    ["a cursor of another order", `{ products(after: "WyJuYXR1cmFsIiwxXQ==") { nodes { id } } }`],
    ["a page too large", "{ products(first: 1000) { nodes { id } } }"],
    ["a query with a fault", `{ products(query: "vintage:(") { nodes { id } } }`],
    ["a field of a plugin", "{ mySessions { id } }"],
    ["a mutation", "mutation { logout }"],
    ["an argument below the root", "{ users { roles(first: 1) { id } } }"],
    ["a page from the end", "{ products(last: 2) { nodes { id } } }"],
    ["a total that is selected twice", "{ products { totalCount again: totalCount } }"],
    ["figures about a page", "{ products { aggregates { count } } }"],
    ["an audited row without its id", "{ users { roles { name } } }"],
  ])("leaves %s to Grafast", (_what, document) => {
    expect(statementOf(document)).toBeNull();
  });
});
