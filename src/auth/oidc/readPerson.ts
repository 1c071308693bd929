import { fetchUserInfo } from "openid-client";
import type { Configuration } from "openid-client";
import { z } from "zod";
import type { Tokens } from "./LoginStrategy.ts";

/** Whom a provider vouches for. */
export interface Person {
  issuer: string;
  subject: string;
  /** Null when the provider tells none. */
  email: string | null;
  /** True only when the provider says exactly that. */
  emailVerified: boolean;
  name: string | null;
  picture: string | null;
}

// Neither a wrong type nor a character that no text may hold makes a claim count.
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
 * The person whom checked tokens are about. What the identity token does not say of the e-mail address is asked of the
 * provider's user-info endpoint, where it has one.
 * @throws what talking to the provider throws; ZodError for claims without a usable subject; Error for a token that was issued
 *   to another client
 */
export async function readPerson(configuration: Configuration, tokens: Tokens): Promise<Person> {
  const told = tokens.claims();
  if (!told) throw new Error("the provider gave no identity token");
  // The library checks `azp` only where there are several audiences.
  if (told.azp !== undefined && told.azp !== configuration.clientMetadata().client_id)
    throw new Error("the identity token was issued to another client");
  const complete = told.email !== undefined && told.email_verified !== undefined;
  const asks = !complete && configuration.serverMetadata().userinfo_endpoint !== undefined;
  const more = asks ? await fetchUserInfo(configuration, tokens.access_token, told.sub) : told;
  // The address and the word that it is verified come from one place, lest the one be about another address.
  const { email, email_verified } = more;
  const read = claims.parse({ ...more, ...told, email, email_verified });
  return {
    issuer: read.iss,
    subject: read.sub,
    email: read.email,
    emailVerified: read.email_verified,
    name: read.name,
    picture: read.picture,
  };
}
