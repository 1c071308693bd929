import { access, each } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import { resource } from "../schema/resource.ts";
import { syncProductsInput } from "../schema/syncProductsInput.ts";
import { syncProductsPayload } from "../schema/syncProductsPayload.ts";

/** The result of `sync_products`. */
interface SyncOutcome {
  results: {
    erpProductNumber: string;
    status: string;
    productId: string | null;
    errors: { code: string; path: (string | number)[]; message: string }[];
  }[];
  productIds: string[];
  counts: { created: number; updated: number; unchanged: number; stale: number; failed: number };
  dryRun: boolean;
}

/** Bulk upsert of products by ERP number; the SQL function `sync_products` decides. */
export const SyncProductsPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const products = resource(build, "products");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;

  return {
    typeDefs: [syncProductsInput, syncProductsPayload],
    objects: {
      Mutation: {
        plans: {
          syncProducts(_$root: unknown, args: FieldArgs) {
            const $input = args.getRaw("input");
            return sideEffectWithPgClientTransaction(
              products.executor,
              $input,
              async (client, input: unknown) => {
                const { rows } = await client.query<{ outcome: SyncOutcome }>({
                  text: "select sync_products($1::jsonb) as outcome",
                  values: [JSON.stringify(input)],
                });
                return rows[0]?.outcome ?? null;
              },
            );
          },
        },
      },
      SyncProductsPayload: {
        plans: {
          products: ($outcome: Step) =>
            each(access($outcome, "productIds"), ($id: Step) => products.get({ id: $id })),
          createdCount: ($outcome: Step) => access($outcome, ["counts", "created"]),
          updatedCount: ($outcome: Step) => access($outcome, ["counts", "updated"]),
          unchangedCount: ($outcome: Step) => access($outcome, ["counts", "unchanged"]),
          staleCount: ($outcome: Step) => access($outcome, ["counts", "stale"]),
          failedCount: ($outcome: Step) => access($outcome, ["counts", "failed"]),
        },
      },
      SyncProductResult: {
        plans: {
          product: ($result: Step) => products.get({ id: access($result, "productId") }),
        },
      },
    },
  };
}, "SyncProductsPlugin");
