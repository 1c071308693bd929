import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type pg from "pg";
import { stored, sync } from "../helpers/db/syncCalls.ts";
import { type TestDatabase, createDatabase, inTransaction } from "../helpers/database.ts";
import { type GrafastAlone, makeGrafastAlone } from "../helpers/grafastAlone.ts";
import { requestOf, sessionWith } from "../helpers/requestOf.ts";
import { type Service, startService } from "../helpers/service.ts";

let database: TestDatabase;
let service: Service;
let grafast: GrafastAlone;

beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ database });
  grafast = await makeGrafastAlone(database);
});
afterAll(async () => {
  await grafast.stop();
  await service.stop();
  await database.drop();
});

const rolledBack = (work: (client: pg.PoolClient) => Promise<void>) =>
  inTransaction(database.pool, work);

/** Different spellings of one name that look the same. */
const spellings: [string, string][] = [
  ["composed", "Rene\u0301 Gabriel"],
  ["in other case", "RENÉ gabriel"],
  ["with two spaces", "René  Gabriel"],
  ["with spaces around it", "  René Gabriel\t"],
  ["with a no-break space", "René\u00a0Gabriel"],
  ["with a thin and an ideographic space", "René\u2009\u3000Gabriel"],
  ["with a variation selector", "René\ufe0f Gabriel"],
];

describe("a name for matching", () => {
  test.each(spellings)("is the same reviewer %s", (_how, spelling) =>
    rolledBack(async (client) => {
      const rating = (reviewerName: string, year: number) => ({
        erpProductNumber: String(year),
        fields: { name: "Pomerol" },
        ratings: [{ reviewerName, year, points: "90" }],
      });
      const { counts } = await sync(client, [rating("René Gabriel", 2015), rating(spelling, 2016)]);
      expect(counts.created).toBe(2);
      expect((await client.query("select name from reviewers")).rows).toEqual([
        { name: "René Gabriel" },
      ]);
    }),
  );

  test("is a duplicate within one product in another Unicode composition", () =>
    rolledBack(async (client) => {
      const ratings = ["René", "Rene\u0301"].map((reviewerName) => ({
        reviewerName,
        points: "90",
      }));
      const { results } = await sync(client, [
        { erpProductNumber: "1", fields: { name: "Pomerol" }, ratings },
      ]);
      expect(results[0]?.errors[0]).toMatchObject({ code: "DUPLICATE" });
    }));

  test("finds a wine type in another composition and with different spaces", () =>
    rolledBack(async (client) => {
      await client.query("insert into wine_types (name) values ('Rosé doux')");
      const fields = { name: "Tavel", wineType: " ROSE\u0301  doux" };
      await sync(client, [{ erpProductNumber: "1", fields }]);
      expect((await stored(client))["1"]).toMatchObject({ wineType: "Rosé doux" });
    }));

  test("is unique by its normalized key, in every table with a unique name", async () => {
    const { rows } = await database.pool.query<{ name: string; columns: string }>(
      `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid, 1, true) as columns
       from pg_index i join pg_class c on c.oid = i.indrelid
       where c.relnamespace = 'backoffice'::regnamespace and i.indisunique and pg_get_expr(i.indexprs, i.indrelid) <> 'true' order by 1`,
    );
    expect(rows.map(({ name, columns }) => `${name} ${columns}`)).toEqual([
      "departments_name_key name_key(name)",
      "export_templates_name_key name_key(name)",
      "resources_name_key name_key(name)",
      "reviewers_name_key name_key(name)",
      "roles_name_key name_key(name)",
      "users_email_key name_key(email)",
      "wine_types_name_key name_key(name)",
    ]);
  });

  test.each([
    ["departments", "name"],
    ["reviewers", "name"],
    ["roles", "name"],
    ["wine_types", "name"],
  ])("of %s is stored composed, with single spaces", (table, column) =>
    rolledBack(async (client) => {
      const { rows } = await client.query<{ name: string }>(
        `insert into ${table} (${column}) values ($1) returning ${column} as name`,
        [" Ve\u0301ro\u00a0 \u2003Nique "],
      );
      expect(rows).toEqual([{ name: "Véro Nique" }]);
      await expect(
        client.query(`insert into ${table} (${column}) values ('véro NIQUE')`),
      ).rejects.toThrow("duplicate key");
    }),
  );

  test("of a user is an address in every Unicode composition", () =>
    rolledBack(async (client) => {
      await client.query("insert into users (email) values ('rene\u0301@example.com')");
      const { rows } = await client.query("select email from users where email like 'ren%'");
      expect(rows).toEqual([{ email: "ren\u00e9@example.com" }]);
      await expect(
        client.query("insert into users (email) values ('RENÉ@example.com')"),
      ).rejects.toThrow("duplicate key");
    }));

  test("of the ERP finds its mapping rule in another composition and with different spaces, but not in another case", () =>
    rolledBack(async (client) => {
      await client.query(
        "insert into erp_mapping_rules (code, key, is_ignored) values ('payment_method.unmapped', 'Re\u0301seau  30', true)",
      );
      const asked = ["Réseau 30", "Re\u0301seau\u00a030", "réseau 30"];
      const { rows } = await client.query(
        "select is_mapped(erp_rules(), 'payment_method.unmapped', k) as found from unnest($1::text[]) as k",
        [asked],
      );
      expect(rows).toEqual([{ found: true }, { found: true }, { found: false }]);
    }));

  test("of a reviewer is rejected with a zero-width character, whether it matches or not", () =>
    rolledBack(async (client) => {
      await client.query("insert into reviewers (name) values ('René')");
      const { results } = await sync(client, [
        {
          erpProductNumber: "1",
          fields: { name: "Pomerol" },
          ratings: [{ reviewerName: "Re\u200bné", points: "90" }],
        },
      ]);
      expect(results[0]?.errors[0]?.message).toMatch(/^reviewerName must be/);
    }));

  test("is rejected with a zero-width character when it matches nothing", () =>
    rolledBack(async (client) => {
      await expect(
        client.query("insert into reviewers (name) values ('Re\u200bné')"),
      ).rejects.toThrow("reviewers_name_check");
    }));
});

test("a product number is matched byte for byte", () =>
  rolledBack(async (client) => {
    const numbers = ["R1", "r1", "A  B", "A B", "01", "1"];
    const { counts } = await sync(
      client,
      numbers.map((erpProductNumber) => ({ erpProductNumber, fields: { name: "Pomerol" } })),
    );
    expect(counts.created).toBe(numbers.length);
    const { rows } = await client.query<{ number: string }>(
      "select erp_product_number as number from products",
    );
    expect(rows.map(({ number }) => number).toSorted()).toEqual(numbers.toSorted());
  }));

test("the tables of this schema sort names by display_order", async () => {
  expect((await database.pool.query("select * from schema_warnings()")).rows).toEqual([]);
});

test("warns of a table whose names have the default collation", () =>
  rolledBack(async (client) => {
    await client.query(
      `create table planted (id uuid primary key, name text, code text collate "C", place text);
       comment on table planted is '@read products.read
@defaultOrder place';
       create unique index planted_name_key on planted (lower(name))`,
    );
    const { rows } = await client.query<{ w: string }>(
      "select w from schema_warnings() as w order by 1",
    );
    expect(rows.map(({ w }) => w)).toEqual([
      expect.stringMatching(/^column planted\.name: .*display_order/),
      expect.stringMatching(/^column planted\.place: /),
      expect.stringMatching(/^index planted_name_key: .*name_key/),
    ]);
  }));

/** In the order of a Danish index. */
const sorted = [
  "Ab",
  "ab",
  "Château A",
  "Chateau B",
  "château C",
  "Ebony",
  "Eclair",
  "Éclair",
  "eclairs",
  "Müller",
  "Zinfandel",
  "Ærø",
  "ærø",
  "Østrig",
  "Åben",
  "åbo",
];

describe("names in lists", () => {
  const shuffled = sorted.toSorted((a, b) => (a + "x" > b ? -1 : 1)).toReversed();
  let token: string;
  const permissions = ["products.read", "reviewers.read", "departments.read", "customers.read"];

  beforeAll(async () => {
    await database.pool.query(
      `insert into products (erp_product_number, name) select i, n from unnest($1::text[]) with ordinality as u(n, i)`,
      [shuffled],
    );
    await database.pool.query(
      `insert into customers (erp_customer_number, name) select i, n from unnest($1::text[]) with ordinality as u(n, i)`,
      [shuffled],
    );
    await database.pool.query(
      `insert into reviewers (name) select n from unnest($1::text[]) as n on conflict do nothing`,
      [shuffled],
    );
    await database.pool.query(
      `insert into users (email) select 'a' || n || '@example.com' from unnest(array['z', 'Æ', 'é', 'E2', 'å', 'B']) as n`,
    );
    ({ token } = await service.login([...permissions, "users.read"]));
  });

  const engines: [string, (document: string, variables: object) => Promise<unknown>][] = [
    [
      "the server",
      async (query, variables) =>
        (await service.ask(query, { token, variables: variables as Record<string, unknown> })).data,
    ],
    [
      "Grafast",
      async (query, variables) =>
        (
          await grafast.answer(
            query,
            requestOf(sessionWith(permissions)),
            variables as Record<string, unknown>,
          )
        ).data,
    ],
  ];

  test.each(engines)("are in display order by %s", async (_engine, ask) => {
    for (const field of ["products", "customers"])
      expect(await ask(`{ ${field} { nodes { name } } }`, {})).toEqual({
        [field]: { nodes: sorted.map((name) => ({ name })) },
      });
    const { reviewers } = (await ask("{ reviewers { name } }", {})) as {
      reviewers: { name: string }[];
    };
    expect(reviewers.map(({ name }) => name.toLowerCase())).toEqual([
      ...new Set(sorted.map((name) => name.toLowerCase())),
    ]);
  });

  test.each(engines)("are paged one by one in both directions by %s", async (_engine, ask) => {
    const page = `query ($first: Int, $last: Int, $after: Cursor, $before: Cursor, $orderBy: [ProductOrderBy!]) {
      products(first: $first, last: $last, after: $after, before: $before, orderBy: $orderBy) {
        nodes { name } pageInfo { startCursor endCursor } } }`;
    type Page = {
      products: {
        nodes: { name: string }[];
        pageInfo: Record<"startCursor" | "endCursor", string>;
      };
    };
    for (const [orderBy, names] of [
      [["NAME_ASC"], sorted],
      [["NAME_DESC"], sorted.toReversed()],
      [["NAME_ASC", "VINTAGE_DESC"], sorted],
    ] as const) {
      const seen: string[] = [];
      for (let after: string | null = null; ;) {
        const { products } = (await ask(page, { first: 1, after, orderBy })) as Page;
        if (!products.nodes[0]) break;
        seen.push(products.nodes[0].name);
        after = products.pageInfo.endCursor;
      }
      expect(seen).toEqual(names);
      const back: string[] = [];
      for (let before: string | null = null; ;) {
        const { products } = (await ask(page, { last: 1, before, orderBy })) as Page;
        if (!products.nodes[0]) break;
        back.push(products.nodes[0].name);
        before = products.pageInfo.startCursor;
      }
      expect(back.toReversed()).toEqual(names);
    }
  });

  test("are in display order in groups", async () => {
    await database.pool.query("update products set country = name");
    const { data } = await service.ask(
      "{ products(first: 0) { groupedAggregates(groupBy: [COUNTRY]) { keys } } }",
      { token },
    );
    const groups = data.products.groupedAggregates as { keys: string[] }[];
    expect(groups.map(({ keys }) => keys[0])).toEqual(sorted);
  });

  test("of users are sorted by their addresses", async () => {
    const { data } = await service.ask("{ users { email } }", { token });
    const emails = (data.users as { email: string }[])
      .map(({ email }) => email)
      .filter((email) => email.startsWith("a") && email.length <= 15 && email.includes("@example"));
    expect(emails.map((email) => email.slice(1, -12))).toEqual(["B", "é", "E2", "z", "Æ", "å"]);
  });
});
