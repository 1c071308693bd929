import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Service, startService } from "../helpers/service.ts";

const query = `{
  loginOptions { title logoUrl devLogin firstUser providers { id name url } }
}`;

describe("loginOptions", () => {
  let service: Service;

  beforeAll(async () => {
    service = await startService({
      env: {
        ENABLE_E2E_TEST_MODE: "true",
        OIDC_PROVIDERS: JSON.stringify([
          { id: "staff", name: "Staff", issuer: "https://login.example", clientId: "office" },
          { id: "other", name: "Other", issuer: "https://other.example", clientId: "office" },
        ]),
      },
    });
  });
  afterAll(async () => {
    await service.stop();
  });

  test("lists the login methods without a login", async () => {
    const { data, errors } = await service.ask(query);
    expect(errors).toBeUndefined();
    expect(data.loginOptions).toEqual({
      title: "Back office",
      logoUrl: null,
      devLogin: true,
      firstUser: true,
      providers: [
        { id: "staff", name: "Staff", url: `${service.url}/auth/login?provider=staff` },
        { id: "other", name: "Other", url: `${service.url}/auth/login?provider=other` },
      ],
    });
  });

  test("offers no first user after one exists", async () => {
    await service.login([]);
    expect((await service.ask(query)).data.loginOptions.firstUser).toBe(false);
  });

  test("reads the users of the test run", async () => {
    await service.login([]);
    const headers = { "X-Test-run-id": "login_options" };
    expect((await service.ask(query, { headers })).data.loginOptions.firstUser).toBe(true);
    await service.ask("mutation { cleanupTestRun }", { headers });
  });

  test("does not change the caller of the operation", async () => {
    const { token, userId } = await service.login([]);
    const { data } = await service.ask("{ loginOptions { devLogin } me { id } }", { token });
    expect(data).toEqual({ loginOptions: { devLogin: true }, me: { id: userId } });
  });

  test("answers a caller whose session has ended", async () => {
    const { token } = await service.login([]);
    await service.ask("mutation { logout }", { token });
    expect((await service.ask("{ loginOptions { devLogin } }", { token })).data).toEqual({
      loginOptions: { devLogin: true },
    });
  });
});
