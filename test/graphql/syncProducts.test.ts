import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { startService } from "../helpers/service.ts";
import type { Service } from "../helpers/service.ts";

let service: Service;
let token: string;

const all = ["products.create", "products.update", "reviewers.read", "reviewers.create"];

beforeAll(async () => {
  service = await startService();
  ({ token } = await service.login(all));
});

afterAll(() => service.stop());

const mutation = `mutation Sync($input: SyncProductsInput!) {
  syncProducts(input: $input) {
    products { erpProductNumber name wineType { name } prices { type currency amount } images { url } ratings { points reviewer { name } } }
    results { erpProductNumber status product { name } errors { code path message } }
    createdCount updatedCount unchangedCount staleCount failedCount dryRun
  }
}`;

const sync = (input: unknown, asked: string | null = token) =>
  service.ask(mutation, { token: asked, variables: { input } });

const wine = {
  erpProductNumber: "00017",
  sourceUpdatedAt: "2026-01-02T03:04:05Z",
  fields: { name: "Vulkà Bianco", vintage: 2013, wineType: "white", alcoholPercent: "12.5" },
  prices: [{ type: "retail", currency: "DKK", amount: "129.95" }],
  images: { items: [{ url: "https://images.example.com/17.jpg" }] },
  ratings: [{ reviewerName: "Kerin O’Keefe", points: "87" }],
};

test("syncProducts returns the stored products, a result for each row, and the counts", async () => {
  const nameless = { erpProductNumber: "nameless" };
  const { data, errors } = await sync({ products: [wine, nameless] });
  expect(errors).toBeUndefined();
  expect(data.syncProducts).toEqual({
    products: [
      {
        erpProductNumber: "00017",
        name: "Vulkà Bianco",
        wineType: { name: "White" },
        prices: [{ type: "retail", currency: "DKK", amount: "129.95" }],
        images: [{ url: "https://images.example.com/17.jpg" }],
        ratings: [{ points: "87.00", reviewer: { name: "Kerin O’Keefe" } }],
      },
    ],
    results: [
      {
        erpProductNumber: "00017",
        status: "CREATED",
        product: { name: "Vulkà Bianco" },
        errors: [],
      },
      {
        erpProductNumber: "nameless",
        status: "FAILED",
        product: null,
        errors: [
          {
            code: "REQUIRED",
            path: ["input", "products", "1", "fields", "name"],
            message: "name must be given",
          },
        ],
      },
    ],
    createdCount: 1,
    updatedCount: 0,
    unchangedCount: 0,
    staleCount: 0,
    failedCount: 1,
    dryRun: false,
  });
});

test("a section of null clears the values, an omitted section keeps them", async () => {
  await sync({ products: [{ ...wine, erpProductNumber: "clear" }] });
  const { data } = await sync({ products: [{ erpProductNumber: "clear", prices: null }] });
  expect(data.syncProducts.products[0]).toMatchObject({
    prices: [],
    images: [{ url: "https://images.example.com/17.jpg" }],
    ratings: [{ points: "87.00" }],
  });
});

test("a dry run returns the unchanged products", async () => {
  const products = [
    { ...wine, erpProductNumber: "dry-new" },
    { erpProductNumber: "00017", fields: { name: "Renamed" } },
  ];
  const { data } = await sync({ products, dryRun: true, errorPolicy: "REJECT_ALL" });
  expect(data.syncProducts).toMatchObject({
    products: [{ name: "Vulkà Bianco" }],
    results: [
      { status: "CREATED", product: null },
      { status: "UPDATED", product: { name: "Vulkà Bianco" } },
    ],
    dryRun: true,
  });
});

test("products are returned in the order of the rows", async () => {
  const numbers = ["o3", "o1", "o2", "o0"];
  const products = numbers.map((number) => ({ ...wine, erpProductNumber: number }));
  const { data } = await sync({ products });
  const returned = data.syncProducts.products as { erpProductNumber: string }[];
  expect(returned.map((product) => product.erpProductNumber)).toEqual(numbers);
});

test.each(all)("syncProducts with ratings is rejected without %s", async (key) => {
  const { token: weak } = await service.login(all.filter((held) => held !== key));
  const { errors } = await sync({ products: [{ ...wine, erpProductNumber: "weak" }] }, weak);
  expect(errors).toHaveLength(1);
  expect(errors?.[0]).toMatchObject({
    message: `Missing required permission: ${key}`,
    extensions: { code: "FORBIDDEN", requiredPermission: key },
  });
});

test("syncProducts is rejected without a login", async () => {
  const { errors } = await sync({ products: [wine] }, null);
  expect(errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
});

test("an empty call is rejected", async () => {
  const { errors } = await sync({ products: [] });
  expect(errors?.[0]).toMatchObject({
    message: "products: give 1 to 1000 products in a call",
    extensions: { code: "BAD_USER_INPUT", path: ["input", "products"] },
  });
});

test("syncProducts is recorded in the audit log with the caller and the correlation id", async () => {
  const { token: own, userId } = await service.login(all);
  await service.ask(mutation, {
    token: own,
    variables: { input: { products: [{ ...wine, erpProductNumber: "audited" }] } },
    headers: { "x-correlation-id": "sync-audited" },
  });
  const { rows } = await service.database.pool.query(
    `select operation, entity_type, actor_user_id, metadata ->> 'source' as source from audit_log
     where correlation_id = 'sync-audited' order by entity_type`,
  );
  expect(rows).toEqual(
    ["Product", "ProductImage", "ProductPrice", "ProductRating"].map((entityType) => ({
      operation: "CREATE",
      entity_type: entityType,
      actor_user_id: userId,
      source: "api",
    })),
  );
});
