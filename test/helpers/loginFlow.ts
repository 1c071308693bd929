import type { TestDatabase } from "./database.ts";
import type { FakeProvider, Grant } from "./fakeProvider.ts";
import { freePort } from "./http.ts";
import { askAt, startService } from "./service.ts";
import type { Answer, Service } from "./service.ts";

/** The return URL of the front end. */
export const frontEnd = "https://app.example/signed-in";

/** A started login, with the redirect to the provider. */
export interface StartedLogin {
  response: Response;
  /** The target of the redirect. */
  authorization: URL;
  state: string;
  cookie: string;
  setCookie: string;
}

/** Requests a page like a browser, without following redirects. */
export function visit(
  service: Pick<Service, "url">,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${service.url}${path}`, { redirect: "manual", headers });
}

/** Starts a login. */
export async function startLogin(
  service: Pick<Service, "url">,
  provider = "main",
  query: Record<string, string> = {},
  cookie = "",
): Promise<StartedLogin> {
  const parameters = new URLSearchParams({ provider, returnTo: frontEnd, ...query });
  const response = await visit(service, `/auth/login?${parameters.toString()}`, { cookie });
  const setCookie = response.headers.get("set-cookie") ?? "";
  const location = response.headers.get("location");
  if (location === null)
    throw new Error(`no redirect but ${response.status}: ${await response.text()}`);
  const authorization = new URL(location);
  return {
    response,
    authorization,
    state: authorization.searchParams.get("state") ?? "",
    cookie: setCookie.split(";")[0] ?? "",
    setCookie,
  };
}

/** Requests the callback with the provider's response. */
export function requestCallback(
  service: Pick<Service, "url">,
  started: Pick<StartedLogin, "state" | "cookie">,
  answer: Record<string, string>,
  provider = "main",
): Promise<Response> {
  const query = new URLSearchParams({ state: started.state, ...answer });
  return visit(service, `/auth/callback/${provider}?${query.toString()}`, {
    cookie: started.cookie,
  });
}

/** Runs a whole login; returns the redirect to the front end, or an error page. */
export async function fullLogin(
  service: Pick<Service, "url">,
  fake: FakeProvider,
  grant: Grant,
  options: { provider?: string; query?: Record<string, string> } = {},
): Promise<Response> {
  const started = await startLogin(service, options.provider, options.query);
  return requestCallback(
    service,
    started,
    { code: fake.grant(started.authorization, grant) },
    options.provider,
  );
}

/** The login code in the redirect to the front end. @throws without a code */
export async function codeOf(response: Response): Promise<string> {
  const code = new URL(response.headers.get("location") ?? "none:").searchParams.get("code");
  if (code === null) throw new Error(`no code but ${response.status}: ${await response.text()}`);
  return code;
}

/** Exchanges a login code like the front end. */
export function exchange(
  service: Pick<Service, "ask">,
  code: string,
  options: { returnTo?: string; verifier?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return service.ask(
    `mutation ($code: String!, $returnTo: String!, $verifier: String) {
      exchangeLoginCode(code: $code, returnTo: $returnTo, verifier: $verifier) { token user { id email name avatarUrl isActive } }
    }`,
    {
      variables: { code, returnTo: options.returnTo ?? frontEnd, verifier: options.verifier },
      ...(options.headers ? { headers: options.headers } : {}),
    },
  );
}

/** The audit rows of a request, oldest first. */
export async function auditOf(
  service: Service,
  response: Response,
): Promise<Record<string, unknown>[]> {
  const { rows } = await service.database.pool.query<Record<string, unknown>>(
    `select actor_user_id, operation, entity_type, before, after, metadata, ip_address
     from audit_log where correlation_id = $1 order by id`,
    [response.headers.get("x-correlation-id")],
  );
  return rows;
}

/** Starts a service that logs in through tenants of the fake provider, as if behind a proxy that ends TLS. */
export async function startLoginService(
  fake: FakeProvider,
  tenants: readonly string[],
  options: { env?: Record<string, string>; database?: TestDatabase } = {},
): Promise<Service> {
  const port = await freePort();
  const service = await startService({
    ...options,
    env: {
      PORT: String(port),
      PUBLIC_URL: "https://office.test",
      OIDC_PROVIDERS: JSON.stringify(tenants.map((tenant) => fake.settings(tenant))),
      ALLOWED_RETURN_URLS: `${frontEnd},https://other.example/app/`,
      ...options.env,
    },
    constants: { login: { timeoutMs: 2_000 } },
  });
  // `service.url` is the public URL; the tests bypass the proxy.
  const url = `http://127.0.0.1:${port}`;
  return { ...service, url, ask: (query, asked) => askAt(url, query, asked) };
}
