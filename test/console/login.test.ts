import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../dev/emulators/identityProvider.ts";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney } from "../helpers/console/journey.ts";
import { makeUser } from "../helpers/loginPeople.ts";
import { type Service, startService } from "../helpers/service.ts";

let browser: Browser;
let service: Service;
let provider: IdentityProvider;

beforeAll(async () => {
  provider = await startIdentityProvider({ port: 0 });
  [browser, service] = await Promise.all([
    launchBrowser(),
    startService({ env: { OIDC_PROVIDERS: JSON.stringify([provider.settings]) } }),
  ]);
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await provider.stop();
});

const today = (page: Page) => page.getByRole("heading", { level: 1, name: "Today" });
/** The session data that scripts can read; must be empty. */
const readable = (page: Page) =>
  page.evaluate("document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })");

// In this order: no user exists before the first one.
describe("the login", () => {
  test("makes the first user Superadmin, shows Today, and logs out", async () => {
    await withJourney({ browser, service }, {}, async ({ page, context, show, expectProblem }) => {
      // The first request has no session.
      expectProblem("401 POST /graphql");
      await page.goto(service.url);
      await page.getByRole("link", { name: "Console" }).click();
      const makeMe = page.getByRole("button", { name: "Make me Superadmin" });
      await makeMe.waitFor();
      await show("login-first-user");
      await makeMe.click();
      await today(page).waitFor();
      await show("today-empty");

      const [cookie] = await context.cookies(service.url);
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
      expect(await readable(page)).not.toContain("bos_");

      // The page is cached; its policy and its nonce must still match.
      await page.reload();
      await today(page).waitFor();

      await page.getByRole("button", { name: /^Account/ }).click();
      await show("account-menu");
      await page.getByRole("menuitem", { name: "Log out" }).click();
      await page.getByRole("button", { name: "Log in" }).waitFor();
      expect(await context.cookies(service.url)).toEqual([]);
    });
  });

  test("returns from the identity provider to the requested address", async () => {
    const email = `${randomUUID()}@example.com`;
    await makeUser(service, email);
    const asked = "/campaigns?q=medium%3AEMAIL";
    await withJourney(
      { browser, service },
      {},
      async ({ page, open, expectAccessible, expectProblem }) => {
        expectProblem("401 POST /graphql");
        expectProblem(`another origin: GET ${provider.settings.issuer}`);
        expectProblem(`another origin: POST ${provider.settings.issuer}`);
        await open(asked);
        const link = page.getByRole("link", { name: provider.settings.name });
        await link.waitFor();
        await expectAccessible();
        await link.click();
        await page.getByLabel("E-mail address").fill(email);
        await page.getByRole("button", { name: "Log in" }).click();
        await page.waitForURL(`${service.url}/admin${asked}`);
        await page.getByRole("navigation").waitFor();
        expect(await readable(page)).not.toContain("bos_");
      },
    );
  });

  test("asks for a login above the page when the session ends, and keeps the page", async () => {
    const email = `${randomUUID()}@example.com`;
    const { token } = await service.login(["reviewers.read"], email);
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, show, expectProblem } = journey;
      expectProblem("401 POST /graphql");
      await open("/reviewers");
      const heading = page.getByRole("heading", { level: 1, name: /^Reviewers/ });
      await heading.waitFor();
      const query = page.locator(".cm-content");
      await query.fill("name:Anna");
      // The list of completions would handle the key.
      await page.keyboard.press("Escape");
      await service.ask("mutation { logout }", { token });
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.waitFor();
      await show("session-ended");
      await dialog.getByLabel("E-mail").fill(email);
      await dialog.getByRole("button", { name: "Log in" }).click();
      await dialog.waitFor({ state: "detached" });
      await heading.waitFor();
      expect(page.url()).toContain("/admin/reviewers");
      expect(page.url()).toContain("Anna");
    });
  });
});
