import { access, each } from "postgraphile/grafast";
import type { FieldArgs, Step } from "postgraphile/grafast";
import { extendSchema } from "postgraphile/utils";
import { OfficeError } from "../errors.ts";
import { resource } from "./resource.ts";
import { syncProductsTypes } from "./syncProductsTypes.ts";

/** What `sync_products` returns. */
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

/** Finds the first text that PostgreSQL cannot hold: with a NUL, or with half of a surrogate pair. */
export function findUnstorableText(
  value: unknown,
  path: (string | number)[] = [],
): (string | number)[] | null {
  if (typeof value === "string") return value.includes("\0") || !value.isWellFormed() ? path : null;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const found = findUnstorableText(item, [...path, Array.isArray(value) ? Number(key) : key]);
    if (found) return found;
  }
  return null;
}

/** Bulk upsert of products by the ERP's numbers; the rules are those of the SQL function `sync_products`. */
export const SyncProductsPlugin: GraphileConfig.Plugin = extendSchema((build) => {
  const products = resource(build, "products");
  const { sideEffectWithPgClientTransaction } = build.dataplanPg;

  return {
    typeDefs: syncProductsTypes,
    objects: {
      Mutation: {
        plans: {
          syncProducts(_$root: unknown, args: FieldArgs) {
            const $input = args.getRaw("input");
            return sideEffectWithPgClientTransaction(
              products.executor,
              $input,
              async (client, input: unknown) => {
                const unstorable = findUnstorableText(input, ["input"]);
                if (unstorable)
                  throw new OfficeError(
                    "BAD_USER_INPUT",
                    `${unstorable.slice(1).join(".")} holds a character that cannot be stored: NUL or half of a surrogate pair`,
                    { path: unstorable },
                  );
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
