import type { PgSelectSingleStep } from "postgraphile/@dataplan/pg";
import { type Step, context, lambda } from "postgraphile/grafast";
import type { RequestInfo } from "./identity.ts";

/** Secrets that a request created, by the id of their row. Only the response of that request can show them. */
export interface CreatedSecrets {
  add(request: RequestInfo, id: string, secret: string): void;
  /** The secret of a row; null where another request created it. */
  get($row: PgSelectSingleStep): Step<string | null>;
}

export function makeCreatedSecrets(): CreatedSecrets {
  const byRequest = new WeakMap<RequestInfo, Map<string, string>>();
  return {
    add(request, id, secret) {
      const secrets = byRequest.get(request) ?? new Map<string, string>();
      byRequest.set(request, secrets.set(id, secret));
    },
    get: ($row) =>
      lambda(
        [context().get("requestContext"), $row.get("id")],
        ([request, id]) => byRequest.get(request)?.get(id as string) ?? null,
      ),
  };
}
