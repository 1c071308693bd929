import { providersSchema } from "./oidcProviders.ts";
import { isReturnPrefix } from "./returnAddress.ts";
import type { Constants } from "./constants.ts";
import type { GetSetting, Need } from "./types.ts";
import { list, integer } from "./types.ts";

export const loginSettings = {
  SESSION_IDLE_HOURS: {
    schema: integer(1, 720),
    fallback: "24",
    meaning: "hours without a request after which a session ends",
  },
  SESSION_MAX_DAYS: {
    schema: integer(1, 365),
    fallback: "14",
    meaning: "days after which a session ends in any case",
  },
  OIDC_PROVIDERS: {
    schema: providersSchema,
    fallback: undefined,
    meaning:
      "OpenID Connect providers, a JSON array of `{id, name, issuer, clientId, clientSecret?, scopes?}`, each with the callback `PUBLIC_URL/auth/callback/<id>`; required in production, an emulator starts elsewhere without it",
    example:
      '[{"id":"staff","name":"Staff login","issuer":"https://login.example","clientId":"back-office"}]',
  },
  ALLOWED_RETURN_URLS: {
    schema: list,
    fallback: "",
    meaning:
      "addresses of front ends that a login may return to, separated by commas: exactly this origin, and this path or one below it; the first is the default, or the console where there is none",
    example: "https://office.example/signed-in",
  },
} as const;

export function sessionConfig(get: GetSetting<typeof loginSettings>) {
  return { idleHours: get("SESSION_IDLE_HOURS"), maxDays: get("SESSION_MAX_DAYS") };
}

export function loginConfig(get: GetSetting<typeof loginSettings>, constants: Constants["login"]) {
  return {
    ...constants,
    providers: get("OIDC_PROVIDERS") ?? [],
    returnUrls: get("ALLOWED_RETURN_URLS"),
  };
}

type Login = ReturnType<typeof loginConfig>;

export function loginProblems({ providers, returnUrls }: Login, production: boolean): string[] {
  const addresses = (returnUrls ?? []).flatMap((address, index) =>
    isReturnPrefix(address)
      ? []
      : [
          `ALLOWED_RETURN_URLS: entry ${index + 1} is not a plain address such as https://office.example/app`,
        ],
  );
  const issuers = providers
    .filter(({ issuer }) => production && !issuer.startsWith("https:"))
    .map(
      ({ id }) => `OIDC_PROVIDERS: the issuer of "${id}" must be an https address in production`,
    );
  return [...addresses, ...issuers];
}

/** A provider is the only way to log in to a production server. */
export function loginNeeds(login: Login, publicUrl: string | undefined): Need[] {
  const purpose = ", for logging in";
  return [
    { name: "OIDC_PROVIDERS", role: "server", isSet: login.providers.length > 0, purpose },
    { name: "PUBLIC_URL", role: "server", isSet: publicUrl !== undefined, purpose },
  ];
}
