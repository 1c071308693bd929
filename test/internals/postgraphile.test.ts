import { afterAll, beforeAll, test } from "@jest/globals";
import { isEnumType } from "graphql";
import { makeSchema, postgraphile } from "postgraphile";
import { grafserv } from "postgraphile/grafserv/node";
import { makePgService } from "postgraphile/adaptors/pg";
import type { PgResource } from "postgraphile/@dataplan/pg";
import { grafast } from "postgraphile/grafast";
import { sql } from "postgraphile/pg-sql2";
import type pg from "pg";
import { developmentPreset, printApi } from "../../src/migration/printApi.ts";
import { poolFor } from "../../src/postgres/pools.ts";
import type { OrderColumn } from "../../src/paging/defaultOrder.ts";
import { cursorDigest } from "../../src/sqlJson/order.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { contractOf, requireMethods } from "../helpers/internals/contract.ts";
import { contextOf, requestOf, sessionWith } from "../helpers/requestOf.ts";

let database: TestDatabase;
let pool: pg.Pool;
let preset: GraphileConfig.Preset;
let api: Awaited<ReturnType<typeof makeSchema>>;
let products: PgResource | undefined;

beforeAll(async () => {
  database = await createDatabase();
  pool = poolFor(database.url, "office_server", 4, { responseTimeoutMs: 60_000 });
  preset = developmentPreset(pool, "backoffice");
  const plugin: GraphileConfig.Plugin = {
    name: "ProductsResourcePlugin",
    schema: {
      hooks: {
        init(state, build) {
          products = (build.pgResources as Record<string, PgResource>)["products"];
          return state;
        },
      },
    },
  };
  api = await makeSchema({ extends: [preset], plugins: [plugin] });
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

test("build.behavior is assigned once, and the schema is the same without our cache", async () => {
  const requireThat = contractOf("graphile-build", "src/plugins/BehaviorCachePlugin.ts");
  const assigned: object[] = [];
  const probe: GraphileConfig.Plugin = {
    name: "BehaviorProbePlugin",
    schema: {
      hooks: {
        build: (build) =>
          Object.defineProperty(build, "behavior", {
            enumerable: true,
            get: () => assigned[0],
            set: (behavior: object) => void assigned.push(behavior),
          }),
      },
    },
  };
  const { schema } = await makeSchema({
    extends: [preset],
    plugins: [probe],
    disablePlugins: ["BehaviorCachePlugin"],
  });
  requireThat("build.behavior is assigned once, after the hook build", assigned.length === 1);
  requireMethods(
    requireThat,
    "build.behavior's prototype",
    Object.getPrototypeOf(assigned[0]) as object,
    ["entityMatches", "getBehaviorForEntity", "getPreferencesAppliedBehaviors"],
  );
  requireThat(
    "behaviors depend only on the behavior strings that are compared",
    printApi(schema) === printApi(api.schema),
  );
});

test("a cursor begins with the digest that cursorText.ts computes", async () => {
  const requireThat = contractOf("@dataplan/pg", "src/sqlJson/order.ts");
  await database.pool.query(
    "insert into products (erp_product_number, name) values ('P1', 'One'), ('P2', 'Two')",
  );
  const result = await grafast({
    schema: api.schema,
    resolvedPreset: api.resolvedPreset,
    source: "{ products(first: 1) { edges { cursor } } }",
    requestContext: contextOf(requestOf(sessionWith(["products.read"]))),
  });
  const { data } = JSON.parse(JSON.stringify(result)) as {
    data: { products: { edges: { cursor: string }[] } };
  };
  const [digest, ...values] = JSON.parse(
    Buffer.from(data.products.edges[0]!.cursor, "base64").toString("utf8"),
  ) as [string, ...[string, unknown][]];
  const order = values.map(([column]): OrderColumn => {
    const [attribute = "", direction = ""] = column.split(" ");
    return { attribute, direction: direction.toUpperCase() as OrderColumn["direction"] };
  });
  requireThat("a cursor names the columns of its order", order.length > 0);
  requireThat(
    "a cursor's first part is the SHA-256 of its order's SQL, ten digits",
    digest === cursorDigest(products!, order),
  );
});

test("an order's enumeration value has an apply function for its columns", () => {
  const requireThat = contractOf("graphile-build-pg", "src/paging/orders.ts");
  const type = api.schema.getType("ProductOrderBy");
  const value = isEnumType(type) ? type.getValues().find(({ name }) => name === "NAME_ASC") : null;
  const apply = value?.extensions.grafast?.apply as unknown as
    ((builder: { orderBy(spec: unknown): void }) => void) | undefined;
  const specs: unknown[] = [];
  apply?.({ orderBy: (spec) => specs.push(spec) });
  requireThat(
    "extensions.grafast.apply calls orderBy with the column and direction",
    JSON.stringify(specs.map((spec) => ({ ...(spec as OrderColumn) }))).includes(
      '"attribute":"name"',
    ),
  );
});

test("sql.value passes a value of any type through compile", () => {
  const requireThat = contractOf("pg-sql2", "src/sqlJson/statement.ts");
  const late = () => 1;
  const { values } = sql.compile(sql`select ${sql.value(late as never)}`);
  requireThat("compile returns the same value", (values as unknown[])[0] === late);
});

test("a service opens its connections by its adaptor", async () => {
  const requireThat = contractOf("graphile-build-pg", "src/postgres/service.ts");
  const [configured] = preset.pgServices ?? [];
  const service = makePgService({ pool, schemas: ["backoffice"] });
  requireMethods(requireThat, "a service's adaptor", service.adaptor, ["createWithPgClient"]);
  let created = 0;
  const createWithPgClient = (...given: Parameters<typeof service.adaptor.createWithPgClient>) => {
    created++;
    return configured!.adaptor.createWithPgClient(...given);
  };
  await makeSchema({
    extends: [preset],
    pgServices: [{ ...configured!, adaptor: { ...configured!.adaptor, createWithPgClient } }],
  });
  requireThat("the introspection calls adaptor.createWithPgClient", created > 0);
});

test("grafserv's setPreset event has the execution configuration", async () => {
  const requireThat = contractOf("grafserv", "src/plugins/ServingPlugin.ts");
  const events: object[] = [];
  const probe: GraphileConfig.Plugin = {
    name: "ServingProbePlugin",
    grafserv: {
      middleware: {
        setPreset(next, event) {
          events.push(event);
          return next();
        },
      },
    },
  };
  const graphile = postgraphile({ extends: [preset], plugins: [probe] });
  await graphile.createServ(grafserv).ready();
  await graphile.release();
  requireThat("setPreset is called before requests are served", events.length > 0);
  requireMethods(requireThat, "the event of setPreset", events[0]!, ["getExecutionConfig"]);
});
