import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

// A search within the limits of the query language has linear cost in the database and ends before the statement
// timeout.
jest.setTimeout(240_000);

const statementTimeoutMs = 15_000;
let service: Service;
let token: string;

beforeAll(async () => {
  service = await startService({
    env: { LOG_LEVEL: "warn", DATABASE_STATEMENT_TIMEOUT_MS: String(statementTimeoutMs) },
  });
  const client = await service.database.pool.connect();
  await client.query(`set session_replication_role = replica;
    insert into products (id, erp_product_number, name, producer, description, country, region, vintage, grape_variety)
      select md5('p' || i)::uuid, 'n' || i, 'Barolo ' || md5(i::text), 'Producer ' || i % 500,
        repeat('Cherry ' || md5(i::text) || ' tar ', 4), (array['France', 'Italy'])[1 + i % 2], 'R' || i % 50, 1950 + i % 70, 'Nebbiolo'
      from generate_series(1, 4000) i;
    insert into orders (id, erp_order_number, customer_name, placed_at, status, currency, net_amount, total_amount)
      select md5('o' || i)::uuid, 'o' || i, 'Customer ' || i % 700, now(), 'OPEN', 'DKK', i, i from generate_series(1, 2000) i;
    insert into order_lines (id, order_id, product_id, line_number, description)
      select md5('l' || i)::uuid, md5('o' || (1 + i / 3))::uuid, md5('p' || (1 + i % 4000))::uuid, i % 3, 'Line ' || md5(i::text)
      from generate_series(1, 5990) i;
    set session_replication_role = default`);
  await client.query("vacuum analyze products, orders, order_lines");
  client.release();
  ({ token } = await service.login(["products.read", "orders.read", "customers.read"]));
});
afterAll(() => service.stop());

const list = (count: number, make: (index: number) => string, between = " OR ") =>
  Array.from({ length: count }, (_value, index) => make(index)).join(between);

/** Two letters, another word for each of 100 places; few rows have a word that begins with them. */
const shortWord = (index: number) => `${"qxzjvwkyuh"[index % 10]}${"qxzjvwkybd"[(index / 10) | 0]}`;

/** Each kind of search: what it is of, the largest of its four sizes, and the text of a size. */
const searches: [name: string, of: string, largest: number, make: (size: number) => string][] = [
  ["alternatives of short words", "products", 100, (n) => list(n, shortWord)],
  ["excluded short words", "products", 100, (n) => list(n, (i) => `-${shortWord(i)}`, " ")],
  ["excluded beginnings", "products", 100, (n) => list(n, (i) => `-zq${i}x*`, " ")],
  ["alternatives of rare words", "products", 100, (n) => list(n, (i) => `zzqx${i}`)],
  ["common words", "products", 100, (n) => list(n, (i) => ["baro", "nebb"][i % 2] ?? "", " ")],
  ["excluded words", "products", 100, (n) => list(n, (i) => `-zzqx${i}`, " ")],
  ["alternatives of excluded words", "products", 100, (n) => list(n, () => "-barolo")],
  ["nested exclusions", "products", 20, (n) => `${"NOT (".repeat(n / 2)}zz${")".repeat(n / 2)}`],
  ["parentheses", "products", 100, (n) => list(n / 2, (i) => `(baro OR zz${i})`, " ")],
  ["beginnings of a long text", "products", 100, (n) => list(n, (i) => `description:zz${i}*`)],
  ["a group of beginnings", "products", 96, (n) => `description:(${list(n, (i) => `z${i}*`)})`],
  ["texts of a list", "products", 800, (n) => `name:IN(${list(n, (i) => `x${i}`, ",")})`],
  [
    "excluded lists",
    "products",
    720,
    (n) => list(8, (k) => `-producer:IN(${list(n / 8, (i) => `${k}${i}`, ",")})`, " "),
  ],
  ["ranges", "products", 96, (n) => list(n, (i) => `vintage:[${1000 + i} TO ${1001 + i}]`)],
  ["a long phrase", "products", 3_900, (n) => `"${"cherry ".repeat(n / 7)}"`],
  ["a long beginning", "products", 3_900, (n) => `"${"c ".repeat(n / 2)}"*`],
  ["signs of patterns", "products", 3_000, (n) => `barolo ${"%_".repeat(n / 2)}`],
  ["letters that unfold", "products", 1_200, (n) => `barolo ${"\ufdfa".repeat(n)}`],
  ["names over two relations", "orders", 80, (n) => list(n, (i) => `lines.product.name:zz${i}`)],
  [
    "beginnings over two relations",
    "orders",
    80,
    (n) => list(n, (i) => `lines.product.description:zz${i}*`),
  ],
  ["exclusions over a relation", "orders", 80, (n) => list(n, (i) => `-lines.unit:zz${i}`, " ")],
  [
    "groups within groups",
    "orders",
    48,
    (n) => list(n, (i) => `lines:(product:(name:b* -vintage:${i}))`, " "),
  ],
  [
    "excluded groups",
    "orders",
    48,
    (n) => list(n, (i) => `-lines:(-product:(-name:b* OR -vintage:${i}))`, " "),
  ],
];

test.each(searches)(
  "%s end in time at a cost linear in their number",
  async (_name, of, largest, make) => {
    const costs: number[] = [];
    for (const size of [largest / 8, largest / 4, largest / 2, largest]) {
      let least = Infinity;
      for (let turn = 0; turn < 3; turn++) {
        const began = performance.now();
        const answer = await service.ask(
          `query ($text: String) { ${of}(first: 50, query: $text) { totalCount nodes { id } } }`,
          { token, variables: { text: make(Math.floor(size)) } },
        );
        least = Math.min(least, performance.now() - began);
        expect(answer.errors).toBeUndefined();
      }
      costs.push(least);
    }
    const [first = 0, , , last = 0] = costs;
    expect({
      costs,
      isLinear: last <= 8 * 2 * Math.max(first, 20),
      isBounded: last < statementTimeoutMs,
    }).toEqual({ costs, isLinear: true, isBounded: true });
  },
);

test("rejects more conditions on prefixes than the database caches", async () => {
  const text = list(50, (i) => `(${shortWord(i)} nebb)`);
  const answer = await service.ask(
    "query ($text: String) { products(first: 50, query: $text) { nodes { id } } }",
    { token, variables: { text } },
  );
  expect(answer.errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});
