import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../dev/emulators/identityProvider.ts";
import { launchBrowser, browserTimeoutMs } from "../helpers/console/browser.ts";
import { type FrontEnd, startFrontEnd } from "../helpers/frontEnd.ts";
import { type Service, startService } from "../helpers/service.ts";

describe("a login in a browser", () => {
  let provider: IdentityProvider;
  let frontEnd: FrontEnd;
  let service: Service;
  let browser: Browser;

  beforeAll(async () => {
    provider = await startIdentityProvider({ port: 0 });
    frontEnd = await startFrontEnd();
    service = await startService({
      env: {
        OIDC_PROVIDERS: JSON.stringify([provider.settings]),
        ALLOWED_ORIGINS: frontEnd.origin,
        ALLOWED_RETURN_URLS: `${frontEnd.origin}/signed-in`,
      },
    });
    frontEnd.service = service.url;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
    await frontEnd.stop();
    await provider.stop();
  });

  async function invite(email: string): Promise<void> {
    await service.database.pool.query(
      `with invited as (insert into users (email) values ($1) returning id, email)
       insert into invitations (user_id, email, role_id, expires_at)
       select invited.id, invited.email, roles.id, now() + interval '1 day' from invited, roles where is_system`,
      [email],
    );
  }

  /** Fills in the provider's login page. */
  async function logInAs(
    page: Page,
    email: string,
    options: { name?: string; verified?: boolean } = {},
  ): Promise<void> {
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Name").fill(options.name ?? "");
    if (options.verified === false) await page.getByLabel("has verified the address").uncheck();
    await page.getByRole("button", { name: "Log in" }).click();
  }

  async function withPage(work: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    context.setDefaultTimeout(browserTimeoutMs);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      if (/Content Security Policy|CORS/.test(message.text())) complaints.push(message.text());
    });
    try {
      await work(page);
      expect(complaints).toEqual([]);
    } finally {
      await context.close();
    }
  }

  test("logs in an invited person through the provider and returns to the front end", async () => {
    const email = `${randomUUID()}@example.com`;
    await invite(email);
    await withPage(async (page) => {
      await page.goto(frontEnd.origin);
      await page.getByRole("button", { name: "Log in" }).click();
      await logInAs(page, email, { name: "Åse Ødegård" });
      await page.waitForURL(`${frontEnd.origin}/signed-in`);
      const who = page.locator("#who");
      await who.getByText("Åse").waitFor();
      expect(JSON.parse((await who.textContent()) ?? "")).toEqual({
        email,
        name: "Åse Ødegård",
        isActive: true,
      });
      const cookies = await page.context().cookies(service.url);
      expect(cookies.find(({ name }) => name === "office_login")).toMatchObject({
        httpOnly: true,
        sameSite: "Lax",
      });
    });
  });

  test("shows an uninvited person the reason and lets them log in as another", async () => {
    const email = `${randomUUID()}@example.com`;
    await invite(email);
    await withPage(async (page) => {
      await page.goto(frontEnd.origin);
      await page.getByRole("button", { name: "Log in" }).click();
      await logInAs(page, "stranger@example.com");
      await page.getByRole("heading", { name: "You cannot log in" }).waitFor();
      expect(await page.getByRole("alert").textContent()).toContain("you have not been invited");

      await page.getByRole("link", { name: "Log in again" }).click();
      await logInAs(page, email, { verified: false });
      expect(await page.getByRole("alert").textContent()).toContain(
        "has not verified your e-mail address",
      );

      await page.getByRole("link", { name: "Log in again" }).click();
      await page.getByRole("button", { name: "Cancel" }).click();
      expect(await page.getByRole("alert").textContent()).toContain(
        "was cancelled or refused there",
      );

      await page.getByRole("link", { name: "Log in again" }).click();
      await logInAs(page, email);
      await page.waitForURL(`${frontEnd.origin}/signed-in`);
      await page.locator("#who").getByText(email).waitFor();
    });
  });

  test("shows how to exchange the code on the built-in page without a front end", async () => {
    const email = `${randomUUID()}@example.com`;
    await invite(email);
    await withPage(async (page) => {
      await page.goto(
        `${service.url}/auth/login?returnTo=${encodeURIComponent(`${service.url}/auth/done`)}`,
      );
      await logInAs(page, email);
      const query = await page.locator("#mutation").textContent();
      const answer = await service.ask(query ?? "");
      expect(answer.data.exchangeLoginCode.user.email).toBe(email);
    });
  });

  test("shows a page and creates no second session when the browser goes back", async () => {
    const email = `${randomUUID()}@example.com`;
    await invite(email);
    await withPage(async (page) => {
      const callbacks: string[] = [];
      page.on("request", (request) => {
        if (request.url().includes("/auth/callback/")) callbacks.push(request.url());
      });
      await page.goto(frontEnd.origin);
      await page.getByRole("button", { name: "Log in" }).click();
      await logInAs(page, email);
      await page.locator("#who").getByText(email).waitFor();
      expect(callbacks).toHaveLength(1);
      await page.goto(callbacks[0]!);
      await page.getByRole("heading", { name: "This login cannot be finished" }).waitFor();
      const { rows } = await service.database.pool.query<{ sessions: number }>(
        "select count(*)::integer as sessions from sessions s join users u on u.id = s.user_id where u.email = $1",
        [email],
      );
      expect(rows[0]?.sessions).toBe(1);
    });
  });
});
