import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser, Page, Request } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, withJourney } from "../helpers/console/journey.ts";
import { freePort } from "../helpers/http.ts";
import { type Proxy, startProxy } from "../helpers/proxy.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let proxy: Proxy;
let service: Service;
let token: string;

beforeAll(async () => {
  // The server must know the proxy's address, because it refuses requests of other origins.
  const port = await freePort();
  proxy = await startProxy(`http://127.0.0.1:${port}`);
  const PUBLIC_URL = new URL(proxy.url).origin;
  [browser, service] = await Promise.all([
    launchBrowser(),
    startService({ env: { PORT: String(port), PUBLIC_URL } }),
  ]);
  ({ token } = await service.login(["products.read", "products.create", "products.update"]));
});
afterAll(async () => {
  await browser.close();
  await proxy.stop();
  await service.stop();
});

beforeEach(() => proxy.restore());

const away = (page: Page) => page.getByText("The server does not answer. What you typed is kept");
const slow = (page: Page) => page.getByText("The server or the network is slow");
const saveButton = (page: Page) => page.getByRole("button", { name: /^Save/ });

async function savedRows(name: string): Promise<number> {
  const { rows } = await service.database.pool.query("select from products where name = $1", [
    name,
  ]);
  return rows.length;
}

/** Opens the form of a new product through the proxy, with its fields filled. */
async function withFilledForm(
  name: string,
  work: (journey: Journey) => Promise<void>,
): Promise<void> {
  await withJourney({ browser, service }, { token }, async (journey) => {
    const { page, open, expectProblem } = journey;
    expectProblem(/ERR_|failed/i);
    await page.clock.install();
    await open("/products/new");
    await page.getByRole("textbox", { name: "Name", exact: true }).fill(name);
    await page.getByLabel(/^Number/).fill(randomUUID());
    await work(journey);
  });
}

describe("saving a form", () => {
  test("creates one row when responses are cut, at their headers or in their body", async () => {
    const name = `Cut ${randomUUID()}`;
    await withFilledForm(name, async ({ page }) => {
      const isCreate = (request: Request) =>
        request.postData()?.includes("mutation Create") === true;
      let cuts = 0;
      for (let isSaved = false; !isSaved; cuts++) {
        proxy.cutAfter(1 + cuts * 100);
        const settled = Promise.race([
          page.waitForEvent("requestfinished", isCreate),
          page.waitForEvent("requestfailed", isCreate),
        ]);
        await saveButton(page).and(page.locator(":enabled")).click();
        await settled;
        await waitFor("the end of the attempt", async () => {
          isSaved = !page.url().endsWith("/new");
          return (
            isSaved || ((await away(page).isVisible()) && (await saveButton(page).isEnabled()))
          );
        });
      }
      // Headers and body are cut several times each.
      expect(cuts).toBeGreaterThan(6);
      // The page of the product does not load through the cut connections.
      await page.close();
      expect(await savedRows(name)).toBe(1);
    });
  });

  test("ends after a minute when the network loses everything, and can be repeated", async () => {
    const name = `Lost ${randomUUID()}`;
    await withFilledForm(name, async ({ page }) => {
      proxy.blackHole();
      await saveButton(page).click();
      await page.clock.fastForward(9_000);
      expect(await slow(page).count()).toBe(0);
      await page.clock.fastForward(2_000);
      await slow(page).waitFor();
      await page.clock.fastForward(50_000);
      await away(page).waitFor();
      await saveButton(page).and(page.locator(":enabled")).waitFor();
      expect(await savedRows(name)).toBe(0);

      // The browser has few connections, and requests that ask for the server may not take them all.
      let waiting = 0;
      let most = 0;
      const count = (step: number) => (request: Request) => {
        if (request.postData()?.includes("{ __typename }") !== true) return;
        waiting += step;
        most = Math.max(most, waiting);
      };
      page.on("request", count(1));
      page.on("requestfailed", count(-1));
      page.on("requestfinished", count(-1));
      for (let i = 0; i < 10; i++) await page.clock.fastForward(3_000);
      await waitFor("a request that asks for the server", () => Promise.resolve(most > 0));

      await proxy.restore();
      await away(page).waitFor({ state: "detached" });
      await saveButton(page).click();
      await page.getByRole("tab", { name: "Fields" }).waitFor();
      expect(await savedRows(name)).toBe(1);
      expect(most).toBe(1);
    });
  });
});
