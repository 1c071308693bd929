import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Locator } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney, cells } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let service: Service;
let token: string;
let product: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  ({ token } = await service.login([
    "products.read",
    "products.create",
    "products.update",
    "reviewers.read",
    "reviewers.create",
  ]));
  const { rows } = await service.database.pool.query<{ id: string }>(
    `insert into products (erp_product_number, name)
     select lpad(n::text, 6, '0'), 'Wine ' || n from generate_series(1, 5) as n returning id`,
  );
  product = rows[0]?.id ?? "";
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

async function prices(): Promise<unknown[]> {
  const { rows } = await service.database.pool.query(
    "select type, currency, amount::text from product_prices where product_id = $1 order by type",
    [product],
  );
  return rows;
}

describe("a drawer", () => {
  test("closes when its button is pressed while the row arrives", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await cells(page).getByText("Wine 1", { exact: true }).waitFor();
      const arrival = Promise.withResolvers<undefined>();
      await page.route("**/graphql", async (route) => {
        if (/query Record\b/.test(route.request().postData() ?? "")) await arrival.promise;
        return route.continue();
      });
      await open(`/products?open=products%2F${product}`);
      const close = page.getByRole("dialog").getByRole("button", { name: "Close" });
      await close.hover();
      await page.mouse.down();
      arrival.resolve(undefined);
      await page.getByRole("dialog").getByRole("tab", { name: "Fields" }).waitFor();
      await page.mouse.up();
      await page.getByRole("dialog").waitFor({ state: "detached" });
    });
  });

  test("has its title beside the button, also in a narrow window", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 640 });
        await open(`/products?open=products%2F${product}`);
        const title = page.getByRole("dialog").getByRole("heading", { name: "Wine 1" });
        await title.waitFor();
        const [at, button] = await Promise.all([
          title.boundingBox(),
          page.getByRole("dialog").getByRole("button", { name: "Close" }).boundingBox(),
        ]);
        expect(at!.x).toBeGreaterThanOrEqual(button!.x + button!.width);
        expect(Math.abs(at!.y + at!.height / 2 - (button!.y + button!.height / 2))).toBeLessThan(2);
      }
    });
  });
});

describe("rows below another row", () => {
  test("are listed in its tab, edited in a drawer, and have a history", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, show }) => {
      await open(`/products/${product}`);
      await page.getByRole("tab", { name: "Prices" }).click();
      await page.getByText("No product prices yet").waitFor();
      await page.getByRole("button", { name: "New product price" }).click();
      const made = page.getByRole("dialog", { name: "New product price" });
      // The product is prefilled, by its name.
      await expectValue(made.getByRole("combobox", { name: "Product" }), "Wine 1");
      await made.locator(":is(input, select):focus").waitFor();
      await page.keyboard.type("retail");
      await made.getByRole("textbox", { name: "Currency" }).fill("dkk");
      await made.getByRole("textbox", { name: "Amount" }).fill("129.50");
      await page.keyboard.press("ControlOrMeta+s");
      await made.getByText("must be a currency code of three capitals, such as DKK").waitFor();
      await show("new-row-drawer");
      await made.getByRole("textbox", { name: "Currency" }).fill("DKK");
      await page.keyboard.press("ControlOrMeta+s");
      await made.waitFor({ state: "detached" });
      await page.getByRole("gridcell", { name: "129.50" }).waitFor();
      expect(await prices()).toEqual([{ type: "retail", currency: "DKK", amount: "129.50" }]);

      await cells(page).getByText("retail").click();
      const price = page.getByRole("dialog", { name: "Product price" });
      await price.getByRole("textbox", { name: "Amount" }).fill("135");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("Saved", { exact: true }).waitFor();
      await price.getByRole("tab", { name: "History" }).click();
      await price.getByText("created it").waitFor();
      // The audit log holds JSON numbers.
      expect(await price.locator(".history").innerText()).toMatch(/129\.50 DKK\s*→\s*135\.00 DKK/);
      await page.keyboard.press("Escape");
      await price.waitFor({ state: "detached" });
      await page.getByRole("gridcell", { name: "135.00" }).waitFor();

      // Its own page leads back to the product, also when the price is deleted.
      const { rows } = await service.database.pool.query<{ id: string }>(
        "select id from product_prices",
      );
      await open(`/productPrices/${rows[0]?.id}`);
      await page.getByRole("tab", { name: "Fields" }).waitFor();
      await page.keyboard.press("Delete");
      await page.getByRole("heading", { level: 1, name: "Wine 1" }).waitFor();
      await page.keyboard.press("u");
      await page.getByText("retail was kept").waitFor();
      await page.getByRole("gridcell", { name: "135.00" }).waitFor();
      expect(await prices()).toHaveLength(1);
      await open("/productPrices");
      await page.getByText("Product prices are shown with the rows that they belong to").waitFor();
      await page.getByRole("main").getByRole("link", { name: "Products" }).click();
      await page.getByRole("heading", { level: 1, name: "Products" }).waitFor();
    });
  });

  test("keep a prefilled reference on Escape, which closes each layer in turn", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      const made = page.getByRole("dialog", { name: "New product image" });
      const reference = made.getByRole("combobox", { name: "Product" });
      const choices = page.getByRole("listbox").getByRole("option");
      const openForm = async () => {
        await open(`/products/${product}`);
        await page.getByRole("tab", { name: "Images" }).click();
        await page.getByRole("button", { name: "New product image" }).click();
        await expectValue(reference, "Wine 1");
        await made.locator(":is(input, textarea):focus").waitFor();
        await reference.focus();
        await choices.first().waitFor();
      };
      /** Closes the choices, which open when the focus returns to the field, and then the drawer. */
      const escapeTwice = async (value: string) => {
        await reference.and(page.locator(":focus")).waitFor();
        await choices.first().waitFor();
        await page.keyboard.press("Escape");
        await choices.first().waitFor({ state: "detached" });
        expect(await reference.inputValue()).toBe(value);
        await page.keyboard.press("Escape");
      };
      await openForm();
      await escapeTwice("Wine 1");
      await made.waitFor({ state: "detached" });
      // A further drawer returns the focus to the field.
      await openForm();
      await choices.filter({ hasText: "New product" }).click();
      const another = page.getByRole("dialog", { name: "New product", exact: true });
      await another.locator(":is(input, textarea, select):focus").waitFor();
      await page.keyboard.press("Escape");
      await another.waitFor({ state: "detached" });
      await escapeTwice("Wine 1");
      await made.waitFor({ state: "detached" });
      // So does the question about unsaved changes.
      await openForm();
      await choices.filter({ hasText: "Wine 2" }).click();
      await page.keyboard.press("Escape");
      const question = page.getByRole("alertdialog");
      await question.getByRole("button", { name: "Stay" }).and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      await escapeTwice("Wine 2");
      await question.getByRole("button", { name: "Discard" }).click();
      await made.waitFor({ state: "detached" });
    });
  });

  test("are discarded only after confirmation", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await open("/products?order=NAME_ASC");
      await cells(page).getByText("Wine 1").click();
      await page.getByRole("tab", { name: "Images" }).click();
      await page.getByRole("button", { name: "New product image" }).click();
      const made = page.getByRole("dialog", { name: "New product image" });
      await made.waitFor();
      // Nothing was typed, so no question appears.
      await page.keyboard.press("Escape");
      await made.waitFor({ state: "detached" });
      await page.getByRole("button", { name: "New product image" }).click();
      await made.getByRole("textbox", { name: "Alt text" }).fill("A bottle");
      await page.keyboard.press("Escape");
      const question = page.getByRole("alertdialog", { name: "Leave with unsaved changes?" });
      // The prefilled product does not count as a change.
      await question.getByText("One field was changed and not saved.").waitFor();
      await expectAccessible("[role=alertdialog]");
      await question.getByRole("button", { name: "Stay" }).click();
      expect(await made.getByRole("textbox", { name: "Alt text" }).inputValue()).toBe("A bottle");
      await page.goBack();
      await question.getByRole("button", { name: "Discard" }).click();
      await made.waitFor({ state: "detached" });
    });
  });

  test("are shown below a row whose field is a connection", async () => {
    const { pool } = service.database;
    await pool.query("insert into reviewers (name) values ('Guide')");
    await pool.query(
      `insert into product_ratings (product_id, reviewer_id, year, points)
       select p.id, r.id, y, 90 from products p, reviewers r, generate_series(1900, 1959) as y`,
    );
    // Without products.read, ratings are listed below reviewers only.
    const critic = await service.login(["reviewers.read", "reviewers.create"]);
    await withJourney({ browser, service }, { token: critic.token }, async ({ page, open }) => {
      await open("/reviewers");
      await cells(page).getByText("Guide").click();
      await page.getByRole("tab", { name: "Ratings" }).click();
      const grid = page.getByRole("grid");
      await grid.getByRole("gridcell", { name: "1900" }).first().waitFor();
      expect(await grid.getAttribute("aria-rowcount")).toBe("301");
      await grid.focus();
      await page.keyboard.press("ControlOrMeta+End");
      await grid.locator("[aria-rowindex='301'] .text").first().waitFor();
      // A row far down opens again by its address.
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").getByRole("textbox", { name: "Points" }).waitFor();
    });
  });
});

describe("the choices of a reference", () => {
  test("create a missing row and choose it", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open(`/products/${product}?tab=productRatings.productId`);
      await page.getByRole("button", { name: "New product rating" }).click();
      const rating = page.getByRole("dialog", { name: "New product rating" });
      await rating.getByRole("combobox", { name: "Reviewer" }).fill("Decanter");
      await page.getByRole("option", { name: "New reviewer “Decanter” …" }).click();
      const reviewer = page.getByRole("dialog", { name: "New reviewer" });
      await expectValue(reviewer.getByRole("textbox", { name: "Name" }), "Decanter");
      await page.keyboard.press("ControlOrMeta+s");
      await reviewer.waitFor({ state: "detached" });
      await expectValue(rating.getByRole("combobox", { name: "Reviewer" }), "Decanter");
      await rating.getByRole("textbox", { name: "Points" }).fill("95");
      await page.keyboard.press("ControlOrMeta+s");
      await rating.waitFor({ state: "detached" });
      const { rows } = await service.database.pool.query(
        "select points::text from product_ratings r join reviewers v on v.id = r.reviewer_id where v.name = 'Decanter'",
      );
      expect(rows).toEqual([{ points: "95.00" }]);
    });
  });
});

describe("keys in a drawer", () => {
  test("act on its row and not on the page below", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products?order=NAME_ASC");
      await cells(page).getByText("Wine 1").waitFor();
      await page.getByRole("grid").focus();
      await page.keyboard.press("Space");
      const drawer = page.getByRole("dialog");
      await drawer.getByRole("heading", { name: "Wine 1" }).waitFor();
      await page.keyboard.press("]");
      await drawer.getByRole("heading", { name: "Wine 2" }).waitFor();
      await page.keyboard.press("e");
      await drawer.locator("input:focus").waitFor();
      await page.keyboard.press("Escape");
      await drawer.waitFor({ state: "detached" });
      await page.getByRole("grid").focus();
      await page.keyboard.press("Space");
      await drawer.getByRole("heading", { name: "Wine 1" }).waitFor();
      await page.keyboard.press("h");
      await drawer.getByRole("tab", { name: "History", selected: true }).waitFor();
      // The list's key for a new row does not work in a drawer.
      await page.keyboard.press("n");
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByRole("dialog", { name: "Go to, or search" }).waitFor();
      expect(page.url()).not.toContain("/new");
    });
  });
});

/** Waits until a control has the value, such as a name that is loaded later. */
async function expectValue(control: Locator, value: string): Promise<void> {
  await waitFor(`the value ${value}`, async () => (await control.inputValue()) === value);
}
