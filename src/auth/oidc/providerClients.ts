import {
  ClientSecretBasic,
  ClientSecretPost,
  None,
  allowInsecureRequests,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
} from "openid-client";
import type { ClientAuth, Configuration } from "openid-client";
import { boundedFetch } from "../../gateways/boundedFetch.ts";
import type { LoginProvider } from "../../settings/oidcProviders.ts";

const rediscoverAfterMs = 60 * 60 * 1000;
// Tolerated clock difference to a provider, in seconds.
const toleranceSeconds = 30;

/** Returns the client of a provider: its endpoints from the discovery document, and our credentials. */
export type ProviderClients = (provider: LoginProvider) => Promise<Configuration>;

interface Known {
  configuration: Configuration;
  discoveredAt: number;
}

/**
 * Discovers providers at first use, so that one that is down does not stop a server from starting, and again after an
 * hour. Concurrent requests share one discovery; when it fails, the previous result is used.
 */
export function makeProviderClients(timeoutMs: number): ProviderClients {
  const known = new Map<string, Known>();
  const pending = new Map<string, Promise<Configuration>>();

  const discover = async (provider: LoginProvider): Promise<Configuration> => {
    const before = known.get(provider.id);
    try {
      const configuration = await discoverClient(provider, timeoutMs);
      known.set(provider.id, { configuration, discoveredAt: Date.now() });
      return configuration;
    } catch (error) {
      if (before) return before.configuration;
      throw error;
    } finally {
      pending.delete(provider.id);
    }
  };

  return (provider) => {
    const present = known.get(provider.id);
    if (present && Date.now() - present.discoveredAt < rediscoverAfterMs)
      return Promise.resolve(present.configuration);
    const running = pending.get(provider.id) ?? discover(provider);
    pending.set(provider.id, running);
    return running;
  };
}

async function discoverClient(provider: LoginProvider, timeoutMs: number): Promise<Configuration> {
  const issuer = new URL(provider.issuer);
  return discovery(
    issuer,
    provider.clientId,
    { [clockTolerance]: toleranceSeconds },
    authenticationFor(provider.clientSecret),
    {
      timeout: timeoutMs / 1000,
      [customFetch]: boundedFetch,
      execute: [
        // Without this the signature of an identity token would not be verified.
        enableNonRepudiationChecks,
        // The settings allow plain HTTP outside production only.
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- deprecated only as a warning against use in production
        ...(issuer.protocol === "http:" ? [allowInsecureRequests] : []),
      ],
    },
  );
}

/** Sends the secret as the provider requires; the standard's default is the header. */
function authenticationFor(secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  const basic = ClientSecretBasic(secret);
  const post = ClientSecretPost(secret);
  return (server, client, body, headers) => {
    const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const authenticate = supported.includes("client_secret_basic") ? basic : post;
    authenticate(server, client, body, headers);
  };
}
