import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { getIntrospectionQuery } from "graphql";
import { migrate } from "../../src/migration/migrate.ts";
import { freePort, send } from "../helpers/http.ts";
import { type Service, startServerProcess } from "../helpers/service.ts";
import { waitForOutput } from "../helpers/waitFor.ts";

const productionEnv = {
  NODE_ENV: "production",
  OIDC_PROVIDERS: JSON.stringify([
    { id: "main", name: "Main", issuer: "https://login.example", clientId: "office" },
  ]),
  ALLOWED_RETURN_URLS: "https://office.example/app",
  S3_ENDPOINT: "https://s3.example",
  S3_ACCESS_KEY_ID: "none",
  S3_SECRET_ACCESS_KEY: "none",
  TYPESENSE_URL: "https://search.example",
  TYPESENSE_API_KEY: "none-of-the-real-ones",
};

let service: Service;

beforeAll(async () => {
  const port = String(await freePort());
  service = await startServerProcess({
    env: { ...productionEnv, PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` },
  });
});
afterAll(async () => {
  await service.stop();
});

test("production serves no playground", async () => {
  const accept = { accept: "text/html" };
  expect((await send(service.url, { method: "GET", headers: accept })).status).toBe(405);
  for (const path of [
    "/docs/",
    "/README.md",
    "/ruru-static/ruru.js",
    "/graphiql",
    "/graphql/stream",
  ])
    expect((await send(service.url, { method: "GET", path, headers: accept })).status).toBe(
      path === "/graphql/stream" ? 405 : 404,
    );
});

test("production answers for every host, since a proxy may name another one", async () => {
  const body = JSON.stringify({ query: "{ __typename }" });
  const answer = await send(service.url, { headers: { host: "inside.example" }, body });
  expect(answer.json.data).toEqual({ __typename: "Query" });
});

test("production redirects browsers from / to the console", async () => {
  const headers = { accept: "text/html" };
  const start = await send(service.url, { method: "GET", path: "/", headers });
  expect(start).toMatchObject({ status: 302, headers: { location: "/admin" } });
  const page = await send(service.url, { method: "GET", path: "/admin", headers });
  expect(page.status).toBe(200);
  expect(page.headers["content-security-policy"]).toContain("require-trusted-types-for 'script'");
});

test("the assistant answers 503 until it is configured", async () => {
  const { token } = await service.login(["ai.use"]);
  const parts = [{ type: "text", text: "Hello?" }];
  const response = await fetch(`${service.url}/ai/chat`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ id: "conversation", messages: [{ id: "m", role: "user", parts }] }),
  });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    error: { code: "UNAVAILABLE", message: "assistant not configured" },
  });
});

test("production has no login without a password", async () => {
  await service.login([], "dora@example.com");
  const answer = await service.ask(`mutation { devLogin(email: "dora@example.com") { token } }`);
  expect(answer.errors).toMatchObject([
    {
      message: 'Cannot query field "devLogin" on type "Mutation".',
      extensions: { code: "BAD_USER_INPUT" },
    },
  ]);
});

test("production warns of a login that row-level security does not hold for, and while there is no user", async () => {
  // The database of tests has the administrator's login.
  await waitForOutput(service, "The login of DATABASE_URL is a superuser");
  expect(service.output()).toContain(
    "There is no user: whoever reaches this server first can become Superadmin",
  );
});

test("the production database has no function that logs in without a password", async () => {
  const { database } = service;
  const client = await database.pool.connect();
  const devLogin = () =>
    client.query(
      "begin; set local role office_api; select * from dev_login('dora@example.com', 'x', 1, 1)",
    );
  const warning = "still has the function dev_login";
  try {
    await expect(devLogin()).resolves.toBeDefined();
    await client.query("rollback");
    await waitForOutput(service, warning);

    await migrate({ ownerUrl: database.url, tenant: "backoffice", production: true }, () => {});
    await expect(devLogin()).rejects.toThrow(/function dev_login\(.*\) does not exist/);
    await client.query("rollback");
    const port = String(await freePort());
    const other = await startServerProcess({
      database,
      env: { ...productionEnv, PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` },
    });
    expect(other.output()).not.toContain(warning);
    expect((await other.ask("{ __typename }")).data).toEqual({ __typename: "Query" });
    await other.stop();
  } finally {
    client.release();
  }
});

test("production reveals the schema neither by introspection nor by suggestions", async () => {
  for (const query of [
    getIntrospectionQuery(),
    `{ __schema { types { name } } }`,
    `{ __type(name: "User") { name } }`,
  ]) {
    const answer = await service.ask(query);
    expect(answer.data ?? null).toBeNull();
    expect(answer.errors?.[0]).toMatchObject({
      message: expect.stringMatching(/introspection has been disabled/),
      extensions: { code: "BAD_USER_INPUT" },
    });
  }
  const { token } = await service.login(["users.read"]);
  const hints = [
    `{ user { id } }`,
    `{ usersx { id } }`,
    `{ users(frist: 1) { id } }`,
    `{ users { emial } }`,
    `{ users { ... on Usr { id } } }`,
    `query ($a: Itn) { users(first: $a) { id } }`,
    `{ users @inclde(if: true) { id } }`,
    `mutation { createCampaign(input: { medium: EMIAL, titel: "x" }) { id } }`,
    `{ users(orderBy: EMAIL_ASD) { id } }`,
  ];
  for (const query of hints) {
    const answer = await service.ask(query, { token });
    expect(answer.errors?.length).toBeGreaterThan(0);
    expect(JSON.stringify(answer.errors)).not.toMatch(/did you mean/i);
  }
  const inVariables = await service.ask(
    `mutation ($input: CreateCampaignInput!) { createCampaign(input: $input) { id } }`,
    { token, variables: { input: { titel: "x", medium: "EMIAL" } } },
  );
  expect(inVariables.errors?.length).toBeGreaterThan(0);
  expect(JSON.stringify(inVariables.errors)).not.toMatch(/did you mean/i);
  expect((await service.ask(`{ __typename }`)).data).toEqual({ __typename: "Query" });
});

test("production rejects introspection in every form", async () => {
  const { token } = await service.login(["users.read"]);
  const fields = "types { name }";
  for (const query of [
    `{ a: __schema { ${fields} } }`,
    `query A { __typename } query B { __schema { ${fields} } }`,
    `mutation { __schema { ${fields} } }`,
    `{ ...F } fragment F on Query { __schema { ${fields} } }`,
    `{ ... on Query { ... @include(if: true) { __schema { ${fields} } } } }`,
    `query ($n: String!) { __type(name: $n) { fields { name } } }`,
    `{ __schema @skip(if: false) { ${fields} } }`,
    `{ users { id } __schema { ${fields} } }`,
  ]) {
    const answer = await service.ask(query, { token, variables: { n: "User" } });
    expect([query, answer.data ?? null]).toEqual([query, null]);
    expect(JSON.stringify(answer.errors)).not.toMatch(/"name":|did you mean/i);
  }
});

test("production serves no pages of development", async () => {
  for (const path of [
    ...["/graphql", "/graphql/", "/graphql?query=%7B__typename%7D", "/GRAPHQL", "/graphql%2f"],
    ...[
      "/ruru",
      "/ruru-static/",
      "/playground",
      "/altair",
      "/voyager",
      "/graphql/ws",
      "/graphiql/",
    ],
    ...["/auth/done", "/auth/done?code=x", "/metrics", "/health", "/authorize"],
    ...["/.env", "/src/server.ts", "/schema.graphql", "/..%2fpackage.json", "/%2e%2e/package.json"],
  ]) {
    const accept = { accept: "text/html,*/*;q=0.1" };
    const { status, text } = await send(service.url, { method: "GET", path, headers: accept });
    expect([path, [400, 404, 405].includes(status)]).toEqual([path, true]);
    expect(text).not.toMatch(/<script|graphiql|ruru|dependencies|schema \{/i);
  }
});

test("a token counts in the Authorization header only, never as a cookie", async () => {
  const { token } = await service.login(["users.read"]);
  const query = JSON.stringify({ query: "{ me { id } }", access_token: token });
  const places: [string, Record<string, string>][] = [
    ...["token", "session", "access_token", "Authorization", "bos", "office_login"].map(
      (name): [string, Record<string, string>] => ["/graphql", { cookie: `${name}=${token}` }],
    ),
    ["/graphql", { cookie: `Authorization=Bearer ${token}` }],
    ["/graphql", { cookie: `__Host-office_login=${token.slice(4, 47)}` }],
    ["/graphql", { "x-api-key": token, "x-auth-token": token, "x-access-token": token }],
    ["/graphql", { "proxy-authorization": `Bearer ${token}` }],
    ["/graphql", { authorization: `Basic ${Buffer.from(`${token}:`).toString("base64")}` }],
    ["/graphql", { authorization: token }],
    ["/graphql", { authorization: `Token ${token}` }],
    [`/graphql?access_token=${token}`, {}],
  ];
  for (const [path, headers] of places) {
    const { text } = await send(service.url, {
      path,
      headers: { "content-type": "application/json", ...headers },
      body: query,
    });
    expect([headers, text]).toEqual([headers, expect.stringContaining("UNAUTHENTICATED")]);
  }
  expect((await service.ask("{ me { id } }", { token })).data.me).not.toBeNull();
});

test("responses set no cookie and allow no foreign origin", async () => {
  const { token } = await service.login(["users.read"]);
  for (const path of ["/graphql", "/healthz", "/auth/callback/main", "/nothing"]) {
    const response = await fetch(`${service.url}${path}`, {
      method: path === "/graphql" ? "POST" : "GET",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        origin: "https://evil.example",
      },
      ...(path === "/graphql" ? { body: JSON.stringify({ query: "{ me { id } }" }) } : {}),
    });
    expect([path, response.headers.get("set-cookie")]).toEqual([path, null]);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
    expect(response.headers.get("access-control-allow-credentials")).toBeNull();
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  }
});
