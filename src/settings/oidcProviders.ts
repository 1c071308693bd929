import { z } from "zod";

const shape =
  "must be a JSON array of {id, name, issuer, clientId, clientSecret?, scopes?} with the ids all different";

const provider = z.strictObject({
  /** Part of the callback's address, `/auth/callback/<id>`. */
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/),
  /** Shown on the page where users choose a provider. */
  name: z.string().trim().min(1).max(80),
  /** The issuer identifier; the discovery document is below it. */
  issuer: z.url({ protocol: /^https?$/ }).refine((issuer) => !/[?#]/.test(issuer)),
  clientId: z.string().min(1).max(500),
  /** A client without a secret is public, and only PKCE protects its codes. */
  clientSecret: z.string().min(1).max(2000).optional(),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/))
    .default(["openid", "email", "profile"]),
});

/** An OpenID Connect provider for logins. */
export type LoginProvider = z.output<typeof provider>;

const providers = z.array(provider).max(20);

/** Parses the setting `OIDC_PROVIDERS`. Errors name the place and the rule, never a value, which may be secret. */
export const providersSchema = z.string().transform((text, context): LoginProvider[] => {
  const refuse = (detail: string) => {
    context.addIssue({ code: "custom", message: `${shape}; ${detail}` });
    return z.NEVER;
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse("it is not JSON");
  }
  const parsed = providers.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return refuse(`wrong at ${issue?.path.join(".") || "the top"}`);
  }
  const ids = parsed.data.map(({ id }) => id);
  if (new Set(ids).size < ids.length) return refuse("an id occurs twice");
  if (parsed.data.some(({ scopes }) => !scopes.includes("openid")))
    return refuse("the scopes of a provider lack openid");
  return parsed.data;
});
