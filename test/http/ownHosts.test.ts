import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { freePort, send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
let port: number;

beforeAll(async () => {
  port = await freePort();
  service = await startService({
    env: { PORT: String(port), PUBLIC_URL: "https://office.example" },
  });
});
afterAll(() => service.stop());

const ask = (host: string, query = "{ __typename }") =>
  send(`http://127.0.0.1:${port}`, {
    headers: { host, "content-type": "application/json" },
    body: JSON.stringify({ query }),
  });

describe("outside production", () => {
  test.each([
    ...["127.0.0.1:4000", "localhost", "app.localhost:4000", "[::1]", "10.0.0.8", "server"],
    ...["host.docker.internal:4000", "office.svc.cluster.local"],
  ])("the host %s is answered", async (host) => {
    expect((await ask(host)).json.data).toEqual({ __typename: "Query" });
  });

  test("nobody logs in without a password where PUBLIC_URL has a name of the internet", async () => {
    const query = `mutation { devLogin(email: "boss@wine.example") { token } }`;
    const { errors } = (await ask("office.example", query)).json;
    expect(errors[0].message).toContain('Cannot query field "devLogin" on type "Mutation"');
    const options = await ask("office.example", "{ loginOptions { devLogin } }");
    expect(options.json.data).toEqual({ loginOptions: { devLogin: false } });
  });

  test("the host of PUBLIC_URL is answered", async () => {
    expect((await ask("office.example")).json.data).toEqual({ __typename: "Query" });
  });

  test.each(["rebound.example", "rebound.example:4000", "localhost.example", "127.0.0.1.example"])(
    "the host %s, which a page of the internet may have, is refused",
    async (host) => {
      const { status, json } = await ask(host);
      expect(status).toBe(403);
      expect(json.error).toMatchObject({
        code: "FORBIDDEN",
        message:
          "Outside production this server does not answer for this host: set PUBLIC_URL to its address",
      });
    },
  );
});
