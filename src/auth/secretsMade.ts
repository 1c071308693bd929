import type { PgSelectSingleStep } from "postgraphile/@dataplan/pg";
import { type Step, context, lambda } from "postgraphile/grafast";
import type { RequestInfo } from "./identity.ts";

/** Secrets that a request created, by the id of their row. Only the response of that request can show them. */
export interface SecretsMade {
  keep(request: RequestInfo, id: string, secret: string): void;
  /** The secret of a row; null where another request created it. */
  of($row: PgSelectSingleStep): Step<string | null>;
}

export function makeSecretsMade(): SecretsMade {
  const made = new WeakMap<RequestInfo, Map<string, string>>();
  return {
    keep(request, id, secret) {
      const secrets = made.get(request) ?? new Map<string, string>();
      made.set(request, secrets.set(id, secret));
    },
    of: ($row) =>
      lambda(
        [context().get("requestContext"), $row.get("id")],
        ([request, id]) => made.get(request)?.get(id as string) ?? null,
      ),
  };
}
