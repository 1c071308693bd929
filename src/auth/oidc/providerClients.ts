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
// How far a provider's clock may be from ours.
const toleranceSeconds = 30;

/** Gives the client of a provider: its endpoints, as its discovery document names them, and our credentials. */
export type ProviderClients = (provider: LoginProvider) => Promise<Configuration>;

interface Known {
  configuration: Configuration;
  discoveredAt: number;
}

/**
 * Discovers providers when they are first needed, so that one that is down keeps no server from starting, and again after an
 * hour. Requests that come at once share one discovery; a failed one is forgotten, or leaves what was known before.
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
        // Without this the signature of an identity token would be taken on the connection's word.
        enableNonRepudiationChecks,
        // The settings admit plain HTTP outside production only.
        // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so only to stand out
        ...(issuer.protocol === "http:" ? [allowInsecureRequests] : []),
      ],
    },
  );
}

/** Sends the secret in the way that the provider asks for; the standard's default is the header. */
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
