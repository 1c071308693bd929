import { test } from "@jest/globals";
import { Configuration } from "openid-client";
import { Strategy } from "openid-client/passport";
import { contractOf, requireMethods } from "../helpers/internals/contract.ts";

test("a login stores its secrets in the session before it calls this.redirect", async () => {
  const requireThat = contractOf("openid-client", "src/auth/oidc/LoginStrategy.ts");
  requireMethods(requireThat, "Strategy", Strategy.prototype, [
    "authenticate",
    "authorizationRequestParams",
    "currentUrl",
    "shouldInitiateAuthRequest",
  ]);
  const config = new Configuration(
    {
      issuer: "https://provider.example",
      authorization_endpoint: "https://provider.example/authorize",
    },
    "client",
  );
  const strategy = new Strategy(
    { config, callbackURL: "https://office.example/callback", sessionKey: "attempt" },
    () => undefined,
  );
  const session: Record<string, Record<string, unknown>> = {};
  const url = await new Promise<string>((resolve, reject) => {
    const actions = Object.assign(Object.create(strategy) as object, {
      redirect: (address: string) => resolve(address),
      error: reject,
    });
    strategy.shouldInitiateAuthRequest = () => true;
    strategy.authenticate.call(actions as never, { session } as never, {} as never);
  });
  requireThat(
    "this.redirect gets the authorization endpoint",
    url.startsWith("https://provider.example/authorize?"),
  );
  requireThat(
    "the session has the PKCE verifier under the session key",
    typeof session["attempt"]?.["code_verifier"] === "string",
  );
});
