import { fetchUserInfo } from "openid-client";
import type { Configuration } from "openid-client";
import { z } from "zod";
import type { Tokens } from "./LoginStrategy.ts";

/** The person whom a provider authenticated. */
export interface Person {
  issuer: string;
  subject: string;
  /** Null when the provider sends none. */
  email: string | null;
  /** True only when the provider says exactly that. */
  emailVerified: boolean;
  name: string | null;
  picture: string | null;
}

// A claim of the wrong type, or with characters that cannot be stored, is ignored.
const storable = z
  .string()
  .max(2000)
  .refine((text) => text.isWellFormed() && !text.includes("\0"));
const optional = storable.nullable().catch(null);
const claims = z.object({
  iss: storable.min(1),
  sub: storable.min(1).max(255),
  email: optional.default(null),
  email_verified: z.boolean().catch(false),
  name: optional.default(null),
  picture: optional.default(null),
});

/**
 * The person of validated tokens. E-mail claims missing in the identity token are read from the user-info endpoint.
 * @throws errors of the provider; ZodError for claims without a subject; Error for a token that was issued to another
 * client
 */
export async function readPerson(configuration: Configuration, tokens: Tokens): Promise<Person> {
  const tokenClaims = tokens.claims();
  if (!tokenClaims) throw new Error("the provider gave no identity token");
  // The library checks `azp` only with several audiences.
  if (tokenClaims.azp !== undefined && tokenClaims.azp !== configuration.clientMetadata().client_id)
    throw new Error("the identity token was issued to another client");
  const complete = tokenClaims.email !== undefined && tokenClaims.email_verified !== undefined;
  const asks = !complete && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const userInfo = asks
    ? await fetchUserInfo(configuration, tokens.access_token, tokenClaims.sub)
    : tokenClaims;
  // Address and verification come from one source, so that they belong together.
  const { email, email_verified } = userInfo;
  const read = claims.parse({ ...userInfo, ...tokenClaims, email, email_verified });
  return {
    issuer: read.iss,
    subject: read.sub,
    email: read.email,
    emailVerified: read.email_verified,
    name: read.name,
    picture: read.picture,
  };
}
