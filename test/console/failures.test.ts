import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney, cells } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let service: Service;
let token: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  ({ token } = await service.login(["products.read"]));
  await service.database.pool.query(
    "insert into products (erp_product_number, name) values ('1', 'Barolo')",
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

describe("a page whose component fails", () => {
  test("says so, offers another try, and gives details without values of rows", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, context, open, breakLists } = journey;
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await breakLists();
      await open("/products?q=secret");
      await page.getByRole("heading", { name: "This page has failed" }).waitFor();
      await page.getByRole("button", { name: "Copy the details" }).waitFor();
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("heading", { name: "This page has failed" }).waitFor();
      await page.getByRole("button", { name: "Copy the details" }).click();
      await page.getByText("Copied.").waitFor();
      const report = await page.evaluate<string>("navigator.clipboard.readText()");
      expect(report).toMatch(/^TypeError: .*\npage \/\$entity\ntime .*\n\s*at /);
      expect(report).not.toContain("secret");
      // The navigation still works.
      await page.getByRole("link", { name: "Go to Today" }).click();
      await page.getByRole("heading", { level: 1, name: "Today" }).waitFor();
    });
  });

  test("says that an address has no page", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products/1/2/3");
      await page.getByRole("heading", { name: "There is no page at this address" }).waitFor();
    });
  });
});

describe("a page whose script is missing, as after an update", () => {
  test("offers to load it again", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectProblem, expectAccessible } = journey;
      expectProblem("404 GET /admin/assets/");
      await open("/products");
      await cells(page).getByText("Barolo").waitFor();
      await page.route("**/assets/RecordPage-*.js", (route) => route.fulfill({ status: 404 }));
      await cells(page).getByText("Barolo").click();
      await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
      await expectAccessible();
      await page.unroute("**/assets/RecordPage-*.js");
      await page.getByRole("button", { name: "Reload" }).click();
      await page.getByRole("heading", { level: 1, name: "Barolo" }).waitFor();
    });
  });

  test("is loaded again by itself, as after an outage while scripts were loaded in advance", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("ERR_FAILED");
      let failures = 0;
      // The page of a row needs the menu too, which the browser does not request again.
      await page.route("**/assets/Menu-*.js", (route) =>
        failures++ === 0 ? route.abort() : route.continue(),
      );
      await open("/products");
      await cells(page).getByText("Barolo").waitFor();
      await waitFor("the failure", () => failures === 1);
      await cells(page).getByText("Barolo").click();
      await page.getByRole("heading", { level: 1, name: "Barolo" }).waitFor();
      expect(failures).toBe(2);
    });
  });

  test("says that a part of the page is missing, and keeps the page", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectProblem } = journey;
      expectProblem("404 GET /admin/assets/");
      await page.route("**/assets/KeysDialog-*.js", (route) => route.fulfill({ status: 404 }));
      await open("/products");
      await cells(page).getByText("Barolo").waitFor();
      await page.getByRole("grid").focus();
      await page.keyboard.press("?");
      await page.getByText("A part of the console could not be loaded").waitFor();
      await page.getByRole("status").getByRole("button", { name: "Reload" }).waitFor();
      await cells(page).getByText("Barolo").waitFor();
    });
  });
});
