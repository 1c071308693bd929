import { Router } from "express";
import type { Request } from "express";
import type { Pool } from "pg";
import type { Logger } from "pino";
import { makeAttemptCounter } from "../auth/attempts.ts";
import type { Tenants } from "../tenants/tenants.ts";
import { requestSettings } from "../auth/identity.ts";
import type { RequestInfo } from "../auth/identity.ts";
import { isChallenge, makeLoginCode } from "../auth/oidc/loginCode.ts";
import {
  LoginProblem,
  toLogFields,
  unknownLoginProblem,
  providerProblem,
  refusedLoginProblem,
} from "../auth/oidc/LoginProblem.ts";
import { makeLoginStore } from "../auth/oidc/loginStore.ts";
import type { Destination } from "../auth/oidc/loginStore.ts";
import { LoginStrategy, attachSession, queryOf } from "../auth/oidc/LoginStrategy.ts";
import { makeProviderClients } from "../auth/oidc/providerClients.ts";
import type { LoginProvider } from "../settings/oidcProviders.ts";
import { readPerson } from "../auth/oidc/readPerson.ts";
import { isAllowedReturn, withCode } from "../settings/returnAddress.ts";
import { runPassport } from "../auth/oidc/runPassport.ts";
import { makeToken } from "../auth/tokens.ts";
import type { Config } from "../config.ts";
import { PublicError } from "../errors/PublicError.ts";
import { isDatabaseError, isOutage } from "../errors/databaseErrors.ts";
import { clientAddress } from "./clientAddress.ts";
import { ensureBrowserCookie, readBrowserCookie } from "./browserCookie.ts";
import { sendProviderChoice, sendLoginComplete } from "./loginPages.ts";
import { problemPage } from "./problemPage.ts";
import { testRunOf } from "./requestInfo.ts";
import type { SessionCookies } from "./sessionCookie.ts";
import { currentScope } from "../context/requestScope.ts";

export interface LoginOptions {
  config: Config;
  /** Acts as `office_server`. */
  pool: Pool;
  tenant: string;
  /** Null when test mode is off: the header X-Test-run-id is rejected. */
  tenants: Tenants | null;
  sessionCookies: SessionCookies;
  log: Logger;
  /** The address at which browsers reach the server; known when it listens. */
  publicUrl: () => string;
}

/**
 * The browser's part of a login: `/auth/login` redirects to a provider, `/auth/callback/<id>` receives the response and
 * redirects to the front end with a code, or to the console with a session cookie. Errors are HTML pages.
 */
export function login(options: LoginOptions): Router {
  const { config, pool, tenant, tenants, sessionCookies, log } = options;
  const { providers, timeoutMs } = config.login;
  const base = options.publicUrl;
  const secure = () => base().startsWith("https:");
  const clientOf = makeProviderClients(timeoutMs);
  const countAttempt = makeAttemptCounter(pool, config.limits.loginAttemptsPerMinute);
  const store = makeLoginStore(pool, requestSettings(config), config.session);
  const consoleUrl = () => `${base()}/admin`;
  // Outside production a page of this server can replace a front end.
  const returnUrls = () => [
    ...config.login.returnUrls,
    ...(config.production ? [] : [`${base()}/auth/done`]),
    consoleUrl(),
  ];

  const router = Router();
  router.get("/auth/login", async (request, response) => {
    const info = await infoOf(request);
    const query = new URLSearchParams(queryOf(request));
    const wanted = { returnTo: returnAddress(query), challenge: challengeIn(query) };
    const provider = chosenProvider(query);
    if (!provider) {
      sendProviderChoice(response, providers, (id) => loginAddress({ ...wanted, provider: id }));
      return;
    }
    await countAttempt(info, "login", { address: info.ipAddress });
    const destination = { ...wanted, provider: provider.id };
    const browser = ensureBrowserCookie(request, response, secure());
    await withProvider(provider, destination, async () => {
      const strategy = new LoginStrategy({
        config: await clientOf(provider),
        callbackUrl: `${base()}/auth/callback/${provider.id}`,
        scope: provider.scopes.join(" "),
        remember: (attempt) => store.begin(info, browser, attempt, destination),
      });
      response.set({ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" });
      attachSession(request);
      await runPassport(strategy, request, response, provider.name);
    });
  });

  router.get("/auth/callback/:provider", async (request, response) => {
    const info = await infoOf(request);
    const provider = providers.find(({ id }) => id === request.params.provider);
    if (!provider) throw unknownProvider();
    await countAttempt(info, "callback", { address: info.ipAddress });
    const states = new URLSearchParams(queryOf(request)).getAll("state");
    const [state] = states;
    const browser = readBrowserCookie(request, secure());
    const taken =
      states.length === 1 && state !== undefined && browser !== null
        ? await store.take(info, browser, provider.id, state)
        : null;
    if (!taken) throw unknownLoginProblem();

    const { attempt, destination } = taken;
    await withProvider(provider, destination, async () => {
      const configuration = await clientOf(provider);
      const strategy = new LoginStrategy({
        config: configuration,
        callbackUrl: `${base()}/auth/callback/${provider.id}`,
        scope: provider.scopes.join(" "),
        remember: () => Promise.reject(unknownLoginProblem()),
      });
      attachSession(request, attempt);
      const tokens = await runPassport(strategy, request, response, provider.name);
      if (!tokens) return;
      const person = await readPerson(configuration, tokens);
      // Counted by the provider's account, so that nobody can use up another user's attempts.
      await countAttempt(info, "callback", { account: `${person.issuer} ${person.subject}` });
      const code = makeLoginCode();
      const refused = await store.complete(info, person, code, destination);
      if (refused !== null) throw refusedLoginProblem(refused);
      response.set({ "Cache-Control": "no-store", "Referrer-Policy": "no-referrer" });
      if (!isAllowedReturn(destination.returnTo, [consoleUrl()])) {
        response.redirect(303, withCode(destination.returnTo, code));
        return;
      }
      const token = makeToken("session");
      if (!(await store.open(info, code, destination, token))) throw unknownLoginProblem();
      sessionCookies.set(response, token);
      response.redirect(303, destination.returnTo);
    });
  });

  if (!config.production)
    router.get("/auth/done", (request, response) => {
      testRunOf(request, tenants);
      sendLoginComplete(response, base(), new URLSearchParams(queryOf(request)).get("code"));
    });
  router.use("/auth", problemPage);
  return router;

  function chosenProvider(query: URLSearchParams): LoginProvider | null {
    if (providers.length === 0)
      throw new LoginProblem(
        404,
        "There is nowhere to log in",
        "No identity provider is configured: see OIDC_PROVIDERS in the README.",
      );
    const wanted = query.getAll("provider");
    if (wanted.length === 0) return providers.length === 1 ? (providers[0] ?? null) : null;
    const found = wanted.length === 1 ? providers.find(({ id }) => id === wanted[0]) : undefined;
    if (!found) throw unknownProvider();
    return found;
  }

  function returnAddress(query: URLSearchParams): string {
    const allowed = returnUrls();
    const given = query.getAll("returnTo");
    const [address] = given.length === 0 ? allowed : given;
    if (address === undefined || given.length > 1 || !isAllowedReturn(address, allowed))
      throw new LoginProblem(
        400,
        "The address to return to is not allowed",
        "A login can return only to the console and to the addresses in ALLOWED_RETURN_URLS, written exactly so.",
      );
    return address;
  }

  function loginAddress({ provider, returnTo, challenge }: Destination): string {
    const query = new URLSearchParams({
      provider,
      returnTo,
      ...(challenge === null ? {} : { challenge }),
    });
    return `${base()}/auth/login?${query.toString()}`;
  }

  /** Translates a provider's errors into a problem page with a link to try again. */
  async function withProvider(
    provider: LoginProvider,
    destination: Destination,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (isOutage(error) || isDatabaseError(error) || error instanceof PublicError) throw error;
      const problem = providerProblem(error, provider.name);
      const details = {
        provider: provider.id,
        problem: problem.title,
        ...(problem.cause !== undefined && { err: toLogFields(problem.cause) }),
      };
      (currentScope()?.log ?? log).warn(details, "login failed");
      problem.again = loginAddress(destination);
      throw problem;
    }
  }

  async function infoOf(request: Request): Promise<RequestInfo> {
    const testRunId = testRunOf(request, tenants);
    const scope = currentScope();
    if (scope) scope.inTestRun = testRunId !== null;
    const testTenant = testRunId !== null && tenants ? await tenants.existing(testRunId) : tenant;
    if (testTenant === null)
      throw new LoginProblem(
        404,
        "This test run does not exist",
        "Create it with bootstrapFirstUser before anyone logs in.",
      );
    return {
      identity: null,
      hasToken: false,
      tenant: testTenant,
      testRunId,
      correlationId: scope?.correlationId ?? "",
      ipAddress: clientAddress(request),
      userAgent: (request.headers["user-agent"] ?? "").slice(0, 500),
    };
  }
}

function challengeIn(query: URLSearchParams): string | null {
  const given = query.getAll("challenge");
  const [challenge] = given;
  if (challenge === undefined) return null;
  if (given.length > 1 || !isChallenge(challenge))
    throw new LoginProblem(
      400,
      "The challenge is malformed",
      "It must be the SHA-256 of a verifier, in base64url.",
    );
  return challenge;
}

function unknownProvider(): LoginProblem {
  return new LoginProblem(
    404,
    "There is no such identity provider",
    "Go back and choose another one.",
  );
}
