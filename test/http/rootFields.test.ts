import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";
import { type Service, startService } from "../helpers/service.ts";

// Queries of several root fields: one statement answers all of them, or Grafast does.
let service: Service;
let alone: GrafastAlone;
let caller: Awaited<ReturnType<Service["login"]>>;

const permissions = ["products.read", "campaigns.read", "roles.read", "customers.read"];
const nobody = "00000000-0000-7000-8000-000000000000";

beforeAll(async () => {
  service = await startService();
  alone = await makeGrafastAlone(service.database);
  caller = await service.login(permissions);
  await service.database.pool.query(
    `insert into products (erp_product_number, name, description, vintage, stock_quantity)
     select 'P' || n, 'é 🍷 ' || n, E'Tab\\t "line"\\n ' || n, 1990 + n % 4, n from generate_series(1, 400) as n`,
  );
});
afterAll(async () => {
  await alone.stop();
  await service.stop();
});

/** The server's response as text, and the result of Grafast. */
async function both(query: string, variables: Record<string, unknown> = {}) {
  const response = await fetch(`${service.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      // A compressed response has another length.
      "accept-encoding": "identity",
      authorization: `Bearer ${caller.token}`,
    },
    body: JSON.stringify({ query, variables }),
  });
  const text = await response.text();
  expect(response.status).toBe(200);
  expect(Number(response.headers.get("content-length"))).toBe(Buffer.byteLength(text));
  const answer = JSON.parse(text) as Answered;
  const identity = { ...sessionWith(permissions), userId: caller.userId };
  const expected = (await alone.answer(query, requestOf(identity), variables)) as Answered;
  return [shown(answer), shown(expected)] as const;
}

interface Answered {
  data: unknown;
  errors?: { path?: unknown; message: string }[];
}

/** The data as text, so that its order counts, and the paths of errors. */
function shown({ data, errors }: Answered) {
  return { data: JSON.stringify(data), errors: errors?.map(({ path }) => path) };
}

const direct = [
  "products(first: 3, orderBy: [NAME_ASC]) { nodes { id name } totalCount }",
  "products(first: 250) { edges { cursor node { name description vintage wineType { name } } } aggregates { count } }",
  "products(query: $query, includeTotalCount: true) { totalCount nodes { name } }",
  "roles { id name permissions { key } }",
  "me { id email }",
  `role(id: "${nobody}") { name }`,
  "campaigns(first: $size) { title }",
  "customers { groupedAggregates(groupBy: [CITY]) { keys count } }",
];
const indirect = [
  "mySessions { id createdAt }",
  `searchFields(type: "products") { name }`,
  "myApiTokens { name }",
  "__typename",
];
/** Rejected for a missing permission or an invalid argument. */
const refused = [
  `user(id: "${nobody}") { id }`,
  "users { id }",
  `searchFields(type: "none") { name }`,
  "products(first: 1000) { nodes { id } }",
];

describe("a query of several root fields", () => {
  test("has Grafast's result, in the order of the document", async () => {
    const some = fc.tuple(
      fc.array(fc.constantFrom(...direct, ...indirect), { maxLength: 6 }),
      // Grafast also rejects the page after a rejected field.
      fc.constantFrom(...direct, ...indirect, ...refused),
    );
    await fc.assert(
      fc.asyncProperty(some, async ([others, last]) => {
        const fields = [...others, last].map((field, index) =>
          index % 3 === 2 ? `... on Query { a${index}: ${field} }` : `a${index}: ${field}`,
        );
        const used = [`$query: String = "vintage:1991"`, "$size: Int"].filter((variable) =>
          fields.some((field) => field.includes(variable.split(":")[0] ?? "")),
        );
        const head = used.length > 0 ? `query (${used.join(", ")})` : "";
        const query = `${head} { ${fields.join(" ")} }`;
        const [answer, expected] = await both(query, { size: 1 });
        expect(answer).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  test("keeps permitted fields when a guard refuses another field", async () => {
    const [{ data, errors }] = await both(
      `{ user(id: "${nobody}") { id } products(first: 1) { nodes { vintage } } roles { __typename } }`,
    );
    expect(errors).toEqual([["user"]]);
    expect(JSON.parse(data)).toEqual({
      user: null,
      products: { nodes: [{ vintage: 1991 }] },
      roles: [{ __typename: "Role" }, { __typename: "Role" }],
    });
  });

  test("audits no reads when a refused field makes data null", async () => {
    const reads = async (query: string) => {
      const { data, errors, headers } = await service.ask(query, caller);
      const { rows } = await service.database.pool.query<{ type: string }>(
        "select entity_type as type from audit_log where operation = 'READ' and correlation_id = $1",
        [headers.get("x-correlation-id")],
      );
      return { data, codes: errors?.map(({ extensions }) => extensions.code), rows };
    };
    const rows = [{ type: "Customer" }];
    const customers = "customers { nodes { name } }";
    expect(await reads(`{ ${customers} users { email } }`)).toEqual({
      data: null,
      codes: ["FORBIDDEN"],
      rows: [],
    });
    expect(await reads(`{ ${customers} user(id: "${nobody}") { email } }`)).toMatchObject({
      data: { customers: {}, user: null },
      codes: ["FORBIDDEN"],
      rows,
    });
    expect(await reads(`{ ${customers} mySessions { id } }`)).toMatchObject({ rows });
    // A field that the statement does not support.
    expect(await reads(`{ ${customers} syncStatus { __typename } }`)).toEqual({
      data: null,
      codes: ["FORBIDDEN"],
      rows: [],
    });
  });

  test("supports @skip and @include, and fragments of one part", async () => {
    for (const yes of [true, false]) {
      const [answer, expected] = await both(
        `query ($yes: Boolean!) { first: mySessions @include(if: $yes) { id } ...pages
           last: mySessions @skip(if: $yes) { ...session } roles @skip(if: $yes) { id } }
         fragment session on Session { id } fragment pages on Query { products(first: 2) { ...page } }
         fragment page on ProductConnection { nodes { name } }`,
        { yes },
      );
      expect(answer).toEqual(expected);
    }
  });

  test("is rejected completely when the token has expired", async () => {
    const leaving = await service.login(permissions);
    const query = "{ products(first: 1) { nodes { id } } mySessions { id } }";
    expect((await service.ask(query, leaving)).data.mySessions).toHaveLength(1);
    await service.database.pool.query("delete from sessions where user_id = $1", [leaving.userId]);
    const { data, errors } = await service.ask(query, leaving);
    expect(data ?? null).toBeNull();
    expect(errors?.map(({ extensions }) => extensions.code)).toContain("UNAUTHENTICATED");
  });
});
