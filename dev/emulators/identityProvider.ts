import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";
import type { Configuration, KoaContextWithOIDC } from "oidc-provider";
import type { LoginProvider } from "../../src/settings/oidcProviders.ts";
import { readLoginForm, sendErrorPage, sendLoginForm } from "./identityPages.ts";
import type { LoginForm } from "./identityPages.ts";
import { makeMemoryAdapter } from "./memoryAdapter.ts";

/** An identity provider for development, which accepts any address without a password. */
export interface IdentityProvider {
  /** The entry for the server's setting `OIDC_PROVIDERS`. */
  settings: LoginProvider;
  port: number;
  stop(): Promise<void>;
}

export interface IdentityProviderOptions {
  /** 0 chooses a free port. */
  port: number;
  /** The service's public URL, if it is not an address of this machine. */
  publicUrl?: string | undefined;
}

const id = "embedded";
const host = "127.0.0.1";

/**
 * Starts a certified OpenID Connect provider on this machine, with a login page that accepts any e-mail address.
 * Its state is in memory. The subject is derived from the address, so that users keep it after a restart.
 * @throws when the port is taken
 */
export async function startIdentityProvider(
  options: IdentityProviderOptions,
): Promise<IdentityProvider> {
  const server = createServer();
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  const issuer = `http://${host}:${port}`;
  const clientSecret = randomBytes(32).toString("base64url");
  const people = new Map<string, LoginForm>();
  const provider = new Provider(issuer, configure({ clientSecret, people }));

  // The service's port is not known yet, so redirects to any address of this machine and to the public URL are
  // allowed.
  const origin = options.publicUrl === undefined ? undefined : new URL(options.publicUrl).origin;
  provider.Client.prototype.redirectUriAllowed = (address: string) =>
    URL.canParse(address) &&
    (new URL(address).origin === origin ||
      ["127.0.0.1", "localhost", "[::1]"].includes(new URL(address).hostname)) &&
    new URL(address).pathname.endsWith(`/auth/callback/${id}`);

  const handle = provider.callback();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith("/interaction/")) {
      interact(provider, people, request, response).catch((error: unknown) => {
        sendErrorPage(response, error instanceof Error ? error.message : "The login failed");
      });
    } else {
      // Drops the session, so that every login shows the form: developers change users often.
      if (request.url?.startsWith("/auth?")) delete request.headers.cookie;
      void handle(request, response);
    }
  });

  return {
    settings: {
      id,
      name: "Embedded provider (development)",
      issuer,
      clientId: "back-office",
      clientSecret,
      scopes: ["openid", "email", "profile"],
    },
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function configure(made: { clientSecret: string; people: Map<string, LoginForm> }): Configuration {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    adapter: makeMemoryAdapter(),
    clients: [
      {
        client_id: "back-office",
        client_secret: made.clientSecret,
        // A placeholder: `redirectUriAllowed` decides at each request.
        redirect_uris: [`http://${host}/auth/callback/${id}`],
        grant_types: ["authorization_code"],
        response_types: ["code"],
        token_endpoint_auth_method: "client_secret_basic",
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256" }] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    features: { devInteractions: { enabled: false } },
    pkce: { required: () => true },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_ctx, accountId) => {
      const person = made.people.get(accountId);
      if (!person) return undefined;
      const { email, verified, name } = person;
      return {
        accountId,
        claims: () => ({
          sub: accountId,
          email,
          email_verified: verified,
          ...(name ? { name } : {}),
        }),
      };
    },
    loadExistingGrant: grantEverything,
    renderError: (ctx, out) => {
      ctx.type = "text/plain";
      ctx.body = `The embedded identity provider refused the request: ${out.error} (${out.error_description ?? ""})`;
    },
    ttl: {
      Session: 3600,
      Interaction: 3600,
      Grant: 3600,
      AccessToken: 600,
      AuthorizationCode: 60,
      IdToken: 600,
    },
  };
}

/** Skips the consent page: the only client is the service itself. */
async function grantEverything(ctx: KoaContextWithOIDC) {
  const { client, session, provider } = ctx.oidc;
  const grant = new provider.Grant({ clientId: client?.clientId, accountId: session?.accountId });
  grant.addOIDCScope("openid email profile");
  await grant.save();
  return grant;
}

async function interact(
  provider: Provider,
  people: Map<string, LoginForm>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await provider.interactionDetails(request, response);
  const form = request.method === "POST" ? await readLoginForm(request) : undefined;
  if (form === undefined || form === null) {
    sendLoginForm(response, form === null ? "Enter an e-mail address." : undefined);
    return;
  }
  if (form === "cancel")
    return provider.interactionFinished(request, response, {
      error: "access_denied",
      error_description: "The user cancelled the login",
    });
  // The same address has the same subject, also after a restart.
  const accountId = createHash("sha256").update(form.email.toLowerCase()).digest("hex");
  people.set(accountId, form);
  return provider.interactionFinished(request, response, { login: { accountId } });
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
