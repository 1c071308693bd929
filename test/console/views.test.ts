import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, cells, withJourney } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";

let browser: Browser;
let service: Service;
let owner: { token: string; userId: string };
let reader: { token: string; userId: string };

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  owner = await service.login(["products.read"], "owner@example.com");
  reader = await service.login(["products.read"], "reader@example.com");
  await service.database.pool.query(
    `insert into products (erp_product_number, name, country, vintage)
     values ('000001', 'Barolo', 'Italy', 2016), ('000002', 'Chianti', 'Italy', 2019), ('000003', 'Cava', 'Spain', 2020)`,
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});
beforeEach(() => service.database.pool.query("delete from saved_views"));

const journey = (work: (journey: Journey) => Promise<void>, token = owner.token, width = 1360) =>
  withJourney({ browser, service }, { token, width }, work);

const viewsButton = (page: Page, name: string | RegExp) => page.getByRole("button", { name });

async function views() {
  const { rows } = await service.database.pool.query<Record<string, unknown>>(
    "select name, entity, query, order_by, columns from saved_views order by name",
  );
  return rows;
}

/** Inserts a view of the owner, and returns its id. */
async function insertView(values: { columns?: string[]; roleOf?: string } = {}): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(
    `insert into saved_views (user_id, name, entity, query, order_by, columns, role_id)
     values ($1, 'Italian', 'products', 'country:Italy', '{VINTAGE_DESC}', $2,
       (select role_id from user_roles where user_id = $3))
     returning id`,
    [owner.userId, values.columns ?? ["name", "vintage"], values.roleOf ?? null],
  );
  return rows[0]?.id ?? "";
}

describe("saved views of a list", () => {
  test("keep its query, order and columns, by keyboard", async () => {
    await journey(async ({ page, open, expectAccessible }) => {
      await open("/products?q=country:Italy&order=VINTAGE_DESC&cols=name,vintage");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await page.keyboard.press("v");
      await page.getByRole("menuitemradio", { name: "All rows", checked: false }).waitFor();
      await expectAccessible();
      await page.keyboard.press("End");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "New saved view" }).waitFor();
      await page.getByLabel("Name").and(page.locator(":focus")).waitFor();
      await expectAccessible();
      await page.keyboard.type("Italian");
      await page.keyboard.press("ControlOrMeta+s");
      await viewsButton(page, "Italian").waitFor();
      expect(await views()).toEqual([
        {
          name: "Italian",
          entity: "products",
          query: "country:Italy",
          order_by: ["VINTAGE_DESC"],
          columns: ["name", "vintage"],
        },
      ]);
      await page.goto(`${service.url}/admin/products`);
      await page.getByRole("gridcell", { name: "Cava" }).waitFor();
      await page.keyboard.press("v");
      await page.getByRole("menuitemradio", { name: "All rows", checked: true }).waitFor();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByText("2 rows found, sorted by Vintage, descending").waitFor();
      expect(await cells(page).allInnerTexts()).toEqual([
        "",
        "Chianti",
        "2019",
        "",
        "Barolo",
        "2016",
      ]);
      expect(await page.getByRole("columnheader").allInnerTexts()).toEqual(["", "Name", "Vintage"]);
      // The arrow keys move through the rows again.
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
    });
  });

  test("show that they were changed, and take the change or drop it", async () => {
    const id = await insertView();
    await journey(async ({ page, open }) => {
      await open(`/products?view=${id}`);
      await viewsButton(page, "Italian").waitFor();
      await page.getByRole("button", { name: "Clear the query" }).click();
      await viewsButton(page, "Italian changed").waitFor();
      expect(new URL(page.url()).searchParams.get("q")).toBe("");
      await page.getByRole("gridcell", { name: "Cava" }).waitFor();
      await viewsButton(page, "Italian changed").click();
      await page.getByRole("menuitemradio", { name: "Italian", checked: true }).click();
      await page.getByText("2 rows found").waitFor();
      await page.getByRole("button", { name: "Clear the query" }).click();
      await page.getByRole("columnheader", { name: "Name" }).click();
      await page.getByText("3 rows found", { exact: true }).waitFor();
      await viewsButton(page, "Italian changed").click();
      await page.getByRole("menuitem", { name: "Save changes to “Italian”" }).click();
      await page.getByText("View “Italian” saved").waitFor();
      await viewsButton(page, /^Italian$/).waitFor();
      expect(await views()).toMatchObject([{ query: null, order_by: [] }]);
    });
  });

  test("are not overwritten when somebody changed them meanwhile", async () => {
    const id = await insertView();
    await journey(async ({ page, open, expectProblem }) => {
      await open(`/products?view=${id}`);
      await viewsButton(page, "Italian").waitFor();
      await page.getByRole("button", { name: "Clear the query" }).click();
      await viewsButton(page, "Italian changed").click();
      const save = page.getByRole("menuitem", { name: "Save changes to “Italian”" });
      await save.waitFor();
      await service.database.pool.query("update saved_views set query = 'x' where id = $1", [id]);
      expectProblem("409 POST /graphql");
      await save.click();
      await page.getByText(/^View “Italian” was not saved\. .*changed/).waitFor();
      expect(await views()).toMatchObject([{ query: "x" }]);
    });
  });

  test("are renamed and deleted in a drawer over the list", async () => {
    const id = await insertView();
    await journey(async ({ page, open }) => {
      await open(`/products?view=${id}`);
      await viewsButton(page, "Italian").click();
      await page.getByRole("menuitem", { name: "Rename, share or delete “Italian”" }).click();
      const drawer = page.getByRole("dialog", { name: "Saved view" });
      await drawer.getByLabel("Name").fill("From Italy");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("Saved", { exact: true }).waitFor();
      await page.keyboard.press("Escape");
      await viewsButton(page, "From Italy").click();
      await page.getByRole("menuitem", { name: "Rename, share or delete “From Italy”" }).click();
      await drawer.getByRole("button", { name: "Delete" }).click();
      await page.getByText("From Italy will be deleted").waitFor();
      await viewsButton(page, "From Italy").click();
      await page.getByRole("menuitemradio", { name: "All rows" }).waitFor();
      expect(await page.getByRole("menuitemradio").count()).toBe(1);
    });
  });

  test("are shown to the holders of their role, with the owner and without a way to change them", async () => {
    const id = await insertView({ roleOf: reader.userId });
    await journey(async ({ page, open }) => {
      await open("/products");
      await page.getByRole("gridcell", { name: "Cava" }).waitFor();
      await viewsButton(page, "Views").click();
      await page.getByRole("menuitemradio", { name: "Italian" }).getByText("owner").waitFor();
      await page.keyboard.press("Escape");
      // As it is opened from a message of a colleague.
      await open(`/products?view=${id}`);
      await page.getByText("2 rows found").waitFor();
      await page.getByRole("button", { name: "Clear the query" }).click();
      await viewsButton(page, "Italian changed").click();
      await page.getByRole("menuitem", { name: "Save as new view" }).waitFor();
      expect(await page.getByRole("menuitem").allInnerTexts()).toEqual(["Save as new view …"]);
    }, reader.token);
  });

  test("name what the list no longer has, and show the rest", async () => {
    const id = await insertView({ columns: ["name", "cork"] });
    await journey(async ({ page, open }) => {
      await open(`/products?view=${id}`);
      await page
        .getByText("Products do not have, or no longer have: cork. The rest is shown.")
        .waitFor();
      expect(await page.getByRole("columnheader").allInnerTexts()).toEqual(["", "Name"]);
      await open("/products?order=CORK_ASC&cols=name,bark");
      await page.getByText("no longer have: bark, CORK_ASC. The rest is shown.").waitFor();
      await page.getByText("3 rows found").waitFor();
    });
  });

  test("that are gone are named, and the list is shown", async () => {
    await journey(async ({ page, open }) => {
      await open("/products?view=01900000-0000-7000-8000-000000000000");
      await page.getByText("There is no such view").waitFor();
      await page.getByText("3 rows found").waitFor();
      expect(new URL(page.url()).search).toBe("");
    });
  });

  test("are found by Ctrl K, which opens their list", async () => {
    await insertView();
    await journey(async ({ page, open }) => {
      await open("/");
      await page.getByRole("heading", { name: "Today" }).waitFor();
      await page.keyboard.press("ControlOrMeta+k");
      await page.getByRole("dialog", { name: "Go to, or search" }).waitFor();
      await page.keyboard.type("italian");
      await page.getByRole("option", { name: "Italian" }).click();
      await page.getByText("2 rows found, sorted by Vintage, descending").waitFor();
    });
  });

  test("keep the columns of the list itself apart", async () => {
    const id = await insertView();
    await journey(async ({ page, open }) => {
      await open(`/products?view=${id}`);
      await viewsButton(page, "Italian").waitFor();
      await page.getByRole("button", { name: "Columns" }).click();
      await page.getByRole("checkbox", { name: "Vintage" }).uncheck();
      await viewsButton(page, "Italian changed").waitFor();
      await open("/products");
      await page.getByRole("columnheader", { name: "Vintage" }).waitFor();
    });
  });

  test("fit into a narrow window", async () => {
    const id = await insertView();
    await service.database.pool.query("update saved_views set name = $1", [
      "A long name ".repeat(8).trim(),
    ]);
    await journey(
      async ({ page, open }) => {
        await open(`/products?view=${id}`);
        await viewsButton(page, /^A long name/).click();
        await page.getByRole("menuitemradio", { name: /^A long name/ }).waitFor();
        expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
      },
      owner.token,
      360,
    );
  });
});
