import type { ExternalSystem } from "../../health/externalSystems.ts";
import type { LoginProvider } from "../../settings/oidcProviders.ts";

/** An identity provider on the health page: healthy when its discovery document is available. */
export function providerSystem({ id, issuer }: LoginProvider): ExternalSystem {
  return {
    name: `login ${id}`,
    async check(signal) {
      const address = `${issuer.replace(/\/+$/, "")}/.well-known/openid-configuration`;
      const response = await fetch(address, { signal, redirect: "manual" });
      await response.body?.cancel();
      if (!response.ok)
        throw new Error(`Its discovery document was answered with ${response.status}`);
      return undefined;
    },
  };
}
