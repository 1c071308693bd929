import { providersSchema } from "./oidcProviders.ts";
import { isReturnPrefix } from "./returnAddress.ts";
import type { Get, Need } from "./types.ts";
import { list, whole } from "./types.ts";

export const loginSettings = {
  SESSION_IDLE_HOURS: {
    schema: whole(1, 720),
    fallback: "24",
    meaning: "a session ends after this many hours without a request",
  },
  SESSION_MAX_DAYS: {
    schema: whole(1, 365),
    fallback: "14",
    meaning: "a session ends after this many days in any case",
  },
  OIDC_PROVIDERS: {
    schema: providersSchema,
    fallback: undefined,
    meaning:
      "OpenID Connect providers to log in with: a JSON array of `{id, name, issuer, clientId, clientSecret?, scopes?}`; the callback to register there is `PUBLIC_URL/auth/callback/<id>`; without it (outside production) an embedded one starts",
  },
  OIDC_TIMEOUT_MS: {
    schema: whole(100, 60_000),
    fallback: "5000",
    meaning: "longest wait for one answer of an identity provider, in milliseconds",
  },
  OIDC_EMBEDDED_PORT: {
    schema: whole(0, 65535),
    fallback: "0",
    meaning: "port of the embedded identity provider; 0 takes a free one and keeps to it",
  },
  ALLOWED_RETURN_URLS: {
    schema: list,
    fallback: "",
    meaning:
      "addresses of front ends to which a login may return, separated by commas: exactly this origin, and this path or one beneath it; the first is the default",
  },
} as const;

export function sessionConfig(get: Get<typeof loginSettings>) {
  return { idleHours: get("SESSION_IDLE_HOURS"), maxDays: get("SESSION_MAX_DAYS") };
}

export function loginConfig(get: Get<typeof loginSettings>) {
  return {
    providers: get("OIDC_PROVIDERS") ?? [],
    timeoutMs: get("OIDC_TIMEOUT_MS"),
    embeddedPort: get("OIDC_EMBEDDED_PORT"),
    returnUrls: get("ALLOWED_RETURN_URLS"),
  };
}

type Login = ReturnType<typeof loginConfig>;

export function loginProblems({ providers, returnUrls }: Login, production: boolean): string[] {
  const addresses = (returnUrls ?? []).flatMap((address, index) =>
    isReturnPrefix(address)
      ? []
      : [
          `ALLOWED_RETURN_URLS: entry ${index + 1} is no plain address such as https://office.example/app`,
        ],
  );
  const issuers = providers
    .filter(({ issuer }) => production && !issuer.startsWith("https:"))
    .map(
      ({ id }) => `OIDC_PROVIDERS: the issuer of "${id}" must be an https address in production`,
    );
  return [...addresses, ...issuers];
}

/** There is no other way in than a provider: nobody could log in to a server without one. */
export function loginNeeds(login: Login, publicUrl: string | undefined): Need[] {
  const purpose = ", for logging in";
  return [
    { name: "OIDC_PROVIDERS", role: "server", given: login.providers.length > 0, purpose },
    { name: "ALLOWED_RETURN_URLS", role: "server", given: login.returnUrls.length > 0, purpose },
    { name: "PUBLIC_URL", role: "server", given: publicUrl !== undefined, purpose },
  ];
}
