import type { RequestInfo } from "./identity.ts";

/** Secrets that a request created, by the id of their row. Only the response of that request can show them. */
export interface SecretsMade {
  keep(request: RequestInfo, id: string, secret: string): void;
  /** Null for a row whose secret another request created. */
  find(request: RequestInfo, id: string): string | null;
}

export function makeSecretsMade(): SecretsMade {
  const made = new WeakMap<RequestInfo, Map<string, string>>();
  return {
    keep(request, id, secret) {
      const secrets = made.get(request) ?? new Map<string, string>();
      made.set(request, secrets.set(id, secret));
    },
    find: (request, id) => made.get(request)?.get(id) ?? null,
  };
}
