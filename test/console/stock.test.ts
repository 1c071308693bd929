import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page, Request } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { takeFirstChoice, typeQuery, withJourney, cells } from "../helpers/console/journey.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { startOwnSqlService } from "../helpers/migration/ownSqlService.ts";
import type { Service } from "../helpers/service.ts";

// Six migrations as a DBA may write them: warehouses within warehouses, a key of two columns, a join table, agreements
// that may not overlap, counts named by a time, a view, at most one lease of a warehouse, and an action with arguments.
const ownSql = join(import.meta.dirname, "../fixtures/migration/stock");

let browser: Browser;
let database: TestDatabase;
let service: Service;
let token: string;

beforeAll(async () => {
  const [opened, started] = await Promise.all([launchBrowser(), startOwnSqlService(ownSql)]);
  browser = opened;
  service = started;
  ({ token, database } = started);
  await database.pool.query(
    `with harbour as (
       insert into wh_warehouses (name, code, kind, rent, color) values ('Copenhagen harbour', 'CP01', 'BONDED', 18500, '#8A1538')
       returning id
     ), shop as (
       insert into wh_warehouses (name, code, kind, parent_id) select 'Odense shop', 'OD01', 'SHOP', id from harbour returning id
     ), product as (
       insert into products (erp_product_number, name) values ('1', 'Aglianico del Vulture') returning id
     ), earlier as (
       insert into wh_counts (warehouse_id, counted_at, bottles) select id, '2026-11-20 08:30Z', 4200 from harbour returning id
     ), later as (
       insert into wh_counts (warehouse_id, counted_at, bottles, corrects_id)
       select harbour.id, '2026-11-25 16:00Z', 124188, earlier.id from harbour, earlier
     ), buyer as (
       insert into customers (erp_customer_number, name) values ('7', 'Bodega Ekman') returning id
     ), agreement as (
       insert into wh_price_agreements (customer_id, product_id, starts_on, ends_on, price)
       select buyer.id, product.id, '2026-12-01', '2026-12-31', 99.5 from buyer, product
     )
     insert into wh_stock_levels (warehouse_id, product_id, bottles) select harbour.id, product.id, 600 from harbour, product`,
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

/** The texts of cells that do not fit into their column. */
const cutTexts = (page: Page, cells: string) =>
  page.evaluate<string[]>(
    `[...document.querySelectorAll("${cells} .text")]
       .filter((text) => text.scrollWidth > text.clientWidth).map((text) => text.textContent)`,
  );

describe("lists", () => {
  test("show numbers with their units in full, and rows that are named by a time", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/stockCounts");
      await cells(page).getByText("124,188 bottles", { exact: true }).waitFor();
      expect(await cutTexts(page, ".is-number")).toEqual([]);
      // The count that the later one corrects.
      const corrected = cells(page.locator("[aria-rowindex='2']")).nth(3);
      expect(await corrected.textContent()).toMatch(/^20 Nov 2026, \d\d:30$/);
    });
  });

  test("widen the column of a number that is longer than usual", async () => {
    const price = (amount: number) =>
      service.database.pool.query("update wh_price_agreements set price = $1", [amount]);
    await price(9_876_543_210.5);
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/priceAgreements?q=");
      await cells(page).getByText("9,876,543,210.50").waitFor();
      expect(await cutTexts(page, ".is-number")).toEqual([]);
    });
    await price(99.5);
  });

  test("show the title of the sorted column in full", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products?order=VINTAGE_DESC");
      const head = page.getByRole("columnheader", { name: "Vintage" });
      await head.waitFor();
      expect(await head.getAttribute("aria-sort")).toBe("descending");
      expect(await cutTexts(page, "[aria-sort=descending]")).toEqual([]);
    });
  });

  test("show times in full", async () => {
    await database.pool.query(
      "insert into campaigns (title, price, author_user_id, medium, scheduled_at) select 'Harvest', 'DKK 89', id, 'WEB', '2026-09-30 08:00Z' from users limit 1",
    );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/campaigns");
      const time = page.getByRole("gridcell", { name: /^30 Sept 2026, \d\d:00$/ });
      await time.waitFor();
      const column = String(await time.getAttribute("data-column"));
      expect(await cutTexts(page, `[data-column='${column}']`)).toEqual([]);
    });
  });

  test("show an amount with its currency once", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/warehouses");
      await cells(page).getByText("18,500.00 DKK", { exact: true }).waitFor();
      const heads = await page.getByRole("columnheader").allTextContents();
      expect(heads).toContain("Rent");
      expect(heads).not.toContain("Currency");
    });
  });

  test("of a key of two columns and of a view have no page for a row", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/stockLevels");
      await cells(page).getByText("600 bottles", { exact: true }).waitFor();
      const [exported] = await Promise.all([
        page.waitForRequest((request) => request.postData()?.includes("createListExport") === true),
        (async () => {
          await page.getByRole("button", { name: "Export" }).click();
          await page.getByRole("menuitem", { name: "CSV" }).click();
        })(),
      ]);
      expect(exported.postDataJSON()).toMatchObject({
        variables: { input: { entity: "stockLevels", query: expect.stringMatching(/^\S+:\*$/) } },
      });
      await page.getByText("The export of stock levels has started").waitFor();
      await open("/warehouseTotals");
      await cells(page).getByText("600 bottles", { exact: true }).waitFor();
      expect(await page.getByRole("button", { name: /^New/ }).count()).toBe(0);
    });
  });
});

test("a new row that needs a choice from a list that the caller may not read is not offered", async () => {
  const offered = async (permissions: readonly string[]) => {
    const { token: theirs } = await service.login(permissions);
    const { data } = await service.ask(
      "{ console { entities { name canCreate { field } missing { verb permission } } } }",
      { token: theirs },
    );
    const entities = data.console.entities as { name: string }[];
    return entities.find(({ name }) => name === "priceAgreements");
  };
  const stock = ["stock.read", "stock.update", "products.read"];
  expect(await offered(stock)).toMatchObject({
    canCreate: null,
    missing: [{ verb: "create", permission: "customers.read" }],
  });
  expect(await offered([...stock, "customers.read"])).toMatchObject({
    canCreate: { field: "createPriceAgreement" },
    missing: [],
  });
});

test("a list whose table has another name in the API is exported", async () => {
  const input = { entity: "priceAgreements", query: "id:*", columns: ["price", "product.name"] };
  const { data, errors } = await service.ask(
    "mutation ($input: CreateListExportInput!) { job: createListExport(input: $input) { id } }",
    { token, variables: { input } },
  );
  expect(errors).toBeUndefined();
  const { rows } = await database.pool.query(
    "select table_name, tables, columns -> 1 -> 'tables' as of_second from export_job_lists where job_id = $1",
    [data.job.id],
  );
  expect(rows).toEqual([
    {
      table_name: "wh_price_agreements",
      tables: ["wh_price_agreements", "products"],
      of_second: ["wh_price_agreements", "products"],
    },
  ]);
});

describe("a list with the tag @defaultQuery", () => {
  const query = "endsOn:>=today OR -endsOn:*";
  const box = (page: Page) => page.locator(".cm-content");
  const price = (page: Page, amount: number) =>
    cells(page).getByText(`${amount}.00 DKK`, { exact: true });

  beforeAll(async () => {
    await database.pool.query(
      `with buyer as (
         insert into customers (erp_customer_number, name) values ('8', 'Wine bar Lund') returning id
       )
       insert into wh_price_agreements (customer_id, product_id, starts_on, ends_on, price)
       select buyer.id, product.id, current_date + a.first, current_date + a.last, a.price
       from buyer, (select id from products limit 1) product,
         (values (-60, -30, 71), (-20, 20, 72), (30, null, 73)) as a(first, last, price)`,
    );
  });

  test("opens with its query, which the box shows and exports use", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/priceAgreements");
      for (const amount of [72, 73]) await price(page, amount).waitFor();
      await box(page).getByText(query).waitFor();
      expect(await price(page, 71).count()).toBe(0);
      expect(new URL(page.url()).search).toBe("");
      const [exported] = await Promise.all([
        page.waitForRequest((request) => request.postData()?.includes("createListExport") === true),
        (async () => {
          await page.getByRole("button", { name: "Export" }).click();
          await page.getByRole("menuitem", { name: "CSV" }).click();
        })(),
      ]);
      expect(exported.postDataJSON()).toMatchObject({ variables: { input: { query } } });
      await page.getByText("The export of price agreements has started").waitFor();
    });
  });

  test("is searched further from the end of its query", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/priceAgreements");
      await price(page, 73).waitFor();
      await typeQuery(page, " price:73");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Enter");
      await page.waitForURL("**/priceAgreements?q=*");
      expect(new URL(page.url()).searchParams.get("q")).toBe(`${query} price:73`);
    });
  });

  test("keeps all rows in its address when the query is cleared", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectAccessible } = journey;
      await open("/priceAgreements");
      await price(page, 73).waitFor();
      await page.getByRole("button", { name: "Clear the query" }).click();
      await price(page, 71).waitFor();
      expect(new URL(page.url()).search).toBe("?q=");
      await box(page).and(page.locator(":focus")).waitFor();
      expect(await page.getByRole("button", { name: "Clear the query" }).count()).toBe(0);
      await page.reload();
      await price(page, 71).waitFor();
      await box(page).getByText("Words, or field:value").waitFor();
      await expectAccessible();

      // A drawer opens and closes over all rows.
      await price(page, 71).click();
      await page.keyboard.press("Space");
      await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await price(page, 71).waitFor();
      expect(new URL(page.url()).search).toBe("?q=");

      // The page of a row, and back.
      await page.locator("[aria-rowindex='2'] .text").first().click();
      await page.getByRole("tab", { name: "Fields" }).waitFor();
      await page.goBack();
      await price(page, 71).waitFor();
      await page.getByRole("navigation").getByRole("link", { name: "Price agreements" }).click();
      await box(page).getByText(query).waitFor();
      await price(page, 71).waitFor({ state: "detached" });
    });
  });

  test("shows the query that no row matches, and all rows after it is cleared", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/resourceBookings");
      const empty = page.locator(".empty");
      await empty.getByRole("heading", { name: "Nothing matches this query" }).waitFor();
      await empty.getByText("endsAt:>=today").waitFor();
      await empty.getByRole("button", { name: "Clear the query" }).click();
      await empty.getByRole("heading", { name: "No bookings yet" }).waitFor();
      expect(new URL(page.url()).search).toBe("?q=");
      await page.goBack();
      await empty.getByText("endsAt:>=today").waitFor();
    });
  });
});

test("a list without the tag has no query in its address after the query is cleared", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/warehouses?q=odense");
    await page.getByText("1 row found").waitFor();
    await page.getByRole("button", { name: "Clear the query" }).click();
    await page.getByText("2 rows found").waitFor();
    expect(new URL(page.url()).search).toBe("");
  });
});

test("the query box offers the fields of the warehouse that another one belongs to", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/warehouses");
    await typeQuery(page, "parent.na");
    await page.getByRole("option", { name: "parent.name" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type('"Copenhagen harbour"');
    await page.keyboard.press("Enter");
    await page.getByText("1 row found").waitFor();
    await cells(page).getByText("Odense shop").waitFor();
  });
});

test("the only row of a table without a list is made, changed and deleted in a tab", async () => {
  await withJourney({ browser, service }, { token }, async (journey) => {
    const { page, open, expectAccessible } = journey;
    await open("/warehouses");
    await cells(page).getByText("Copenhagen harbour").first().click();
    await page.getByRole("tab", { name: "Lease" }).click();
    const add = page.getByRole("button", { name: "New lease" });
    await add.click();
    const drawer = page.getByRole("dialog");
    await drawer.getByLabel(/^Landlord/).fill("Port of Copenhagen");
    await page.keyboard.press("ControlOrMeta+s");
    await drawer.waitFor({ state: "detached" });
    const landlord = cells(page).getByText("Port of Copenhagen", { exact: true });
    await landlord.waitFor();
    await add.waitFor({ state: "detached" });
    await expectAccessible();

    await landlord.click();
    await drawer.getByLabel(/^Notice months/).fill("6");
    await page.keyboard.press("ControlOrMeta+s");
    await cells(page).getByText("6 months", { exact: true }).waitFor();
    const { rows } = await database.pool.query<{ id: string }>(
      "select id from wh_leases where notice_months = 6",
    );
    await open(`/leases/${rows[0]?.id}`);
    await page.getByRole("heading", { level: 1, name: "Port of Copenhagen" }).waitFor();
    await page.getByRole("tab", { name: "History" }).click();
    await page.getByText("Notice months").first().waitFor();
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "New lease" }).waitFor();
  });
});

describe("forms", () => {
  test("align the fields of a row, whatever the browser makes of their kinds", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/warehouses/new");
      await page.getByLabel(/^Name/).waitFor();
      const heights = await page.evaluate<number[]>(
        `[...document.querySelectorAll("form input:not([type=checkbox]), form select, main input.input, main select.input")]
           .map((input) => input.getBoundingClientRect().height)`,
      );
      expect(heights.length).toBeGreaterThan(10);
      expect([...new Set(heights)]).toEqual([32]);
      const hints = await page.evaluate<number[]>(
        `["name", "code", "kind"].map((name) =>
           document.querySelector("[data-field=" + name + "] .hint").getBoundingClientRect().bottom)`,
      );
      expect(new Set(hints).size).toBe(1);
    });
  });

  test("show the message of an exclusion constraint at each column of it, and no choices above it", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("createPriceAgreement");
      await open("/priceAgreements/new");
      const customer = page.getByRole("combobox", { name: "Customer" });
      for (const [name, text] of [
        ["Customer", "bod"],
        ["Product", "agl"],
      ] as const) {
        await page.getByRole("combobox", { name }).focus();
        await page.keyboard.type(text);
        await page.keyboard.press("Enter");
        await page.getByRole("listbox").waitFor({ state: "detached" });
      }
      await page.getByLabel(/^Starts on/).fill("2026-12-24");
      await page.getByLabel(/^Price/).fill("89");
      await page.keyboard.press("ControlOrMeta+s");
      for (const name of ["customerId", "productId", "startsOn", "endsOn"])
        await page
          .locator(`[data-field=${name}]`)
          .getByText("The customer has an agreement for this product in this time already.")
          .waitFor();
      await customer.and(page.locator(":focus")).waitFor();
      await page.getByRole("listbox").waitFor({ state: "detached" });
      await page.getByLabel(/^Starts on/).fill("2027-01-01");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByRole("heading", { level: 1, name: "1 Jan 2027" }).waitFor();
    });
  });

  test("of an action with arguments show its refusal at the argument, and run it", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("transferStock");
      await open("/warehouses");
      await cells(page).getByText("Copenhagen harbour").first().click();
      await page.getByRole("button", { name: "Actions" }).waitFor();
      await page.keyboard.press(".");
      await page.getByRole("menuitem", { name: "Transfer stock" }).waitFor();
      await page.keyboard.press("Enter");
      const form = page.getByRole("dialog");
      for (const [name, text] of [
        ["Product", "agl"],
        ["To warehouse", "ode"],
      ] as const) {
        await form.getByRole("combobox", { name }).focus();
        await page.keyboard.type(text);
        await page.keyboard.press("Enter");
        await page.getByRole("listbox").waitFor({ state: "detached" });
      }
      await form.getByLabel(/^Bottles/).fill("601");
      await page.keyboard.press("Enter");
      await form
        .locator("[data-field=bottles]")
        .getByText("There are not so many bottles of this product in the warehouse")
        .waitFor();
      await form.getByLabel(/^Bottles/).fill("24");
      await page.keyboard.press("Enter");
      await form.waitFor({ state: "detached" });
    });
    const { rows } = await database.pool.query(
      "select w.code, l.bottles from wh_stock_levels l join wh_warehouses w on w.id = l.warehouse_id order by w.code",
    );
    expect(rows).toEqual([
      { code: "CP01", bottles: 576 },
      { code: "OD01", bottles: 24 },
    ]);
  });
});

describe("the form of a new row", () => {
  const isCreation = (request: Request) => request.postData()?.includes("mutation Create") === true;

  test("asks for the other arguments of the mutation, and shows an error at its argument", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("createStockCount");
      await open("/stockCounts/new");
      await page.getByRole("combobox", { name: "Warehouse" }).fill("ode");
      await takeFirstChoice(page);
      await page.getByLabel(/^Counted/).fill("2026-11-27T08:00");
      await page.getByLabel(/^Bottles/).fill("24");
      await page.keyboard.press("ControlOrMeta+s");
      const options = page.getByRole("region", { name: "Options" });
      const witness = options.locator("[data-field=witness]");
      await witness.getByText("Witness is needed").waitFor();
      await witness.getByRole("textbox").and(page.locator(":focus")).waitFor();
      // For the page; callers of the API read the rest.
      await witness.getByText("The person who was there.", { exact: true }).waitFor();
      await witness.getByRole("textbox").fill("x".repeat(81));
      await page.keyboard.press("ControlOrMeta+s");
      await witness.getByText("Witness must be 1 to 80 visible characters").waitFor();
      await witness.getByRole("textbox").fill("Bo Friis");
      const closes = options.getByRole("checkbox", { name: "Closes warehouse" });
      await closes.check();
      await closes.uncheck();
      const [created] = await Promise.all([
        page.waitForRequest(isCreation),
        page.keyboard.press("ControlOrMeta+s"),
      ]);
      // The form sends what its checkbox shows.
      expect(created.postDataJSON()).toMatchObject({
        variables: { input: { bottles: 24 }, arg_witness: "Bo Friis", arg_closesWarehouse: false },
      });
      await page.getByRole("heading", { level: 1, name: /^27 Nov 2026/ }).waitFor();
      expect(await page.getByText("Witness").count()).toBe(0);
    });
    const { rows } = await database.pool.query(
      "select is_open, notes from wh_warehouses where code = 'OD01'",
    );
    expect(rows).toEqual([{ is_open: true, notes: "Counted before Bo Friis" }]);
  });

  test("asks before an argument is lost, also in a drawer", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/warehouses");
      await cells(page).getByText("Odense shop").click();
      await page.getByRole("tab", { name: "Counts" }).click();
      await page.getByRole("button", { name: "New count" }).click();
      const form = page.getByRole("dialog", { name: "New count" });
      await form.getByRole("checkbox", { name: "Closes warehouse" }).check();
      await form.getByRole("button", { name: "Close", exact: true }).click();
      const question = page.getByRole("alertdialog");
      await question.getByText("One field was changed and not saved.").waitFor();
      await question.getByRole("button", { name: "Stay" }).click();
      await form.getByLabel(/^Counted/).fill("2026-11-28T08:00");
      await form.getByLabel(/^Bottles/).fill("23");
      await form.getByLabel(/^Witness/).fill("Clara Holm");
      await page.keyboard.press("ControlOrMeta+s");
      await form.waitFor({ state: "detached" });
      await cells(page).getByText("23 bottles", { exact: true }).waitFor();
    });
    const { rows } = await database.pool.query(
      "update wh_warehouses set is_open = true where code = 'OD01' returning notes",
    );
    expect(rows).toEqual([{ notes: "Counted before Clara Holm" }]);
  });
});

test("the account and the link of the shown page are in view, however long the navigation is", async () => {
  for (const [width, height] of [
    [1360, 500],
    [360, 500],
  ] as const)
    await withJourney({ browser, service }, { token, width, height }, async ({ page, open }) => {
      await open("/stockCounts");
      await cells(page).first().waitFor();
      if (width < 720) await page.getByRole("button", { name: "Menu" }).click();
      const navigation = page.getByRole("navigation").last();
      const account = navigation.getByRole("button", { name: /^Account/ });
      await account.waitFor();
      const top = (await account.boundingBox()) ?? { y: Number.NaN, height: 0 };
      expect(top.y + top.height).toBeLessThanOrEqual(height);
      const link = await navigation.getByRole("link", { name: "Counts" }).boundingBox();
      expect(link?.y).toBeGreaterThan(0);
      expect((link?.y ?? Number.NaN) + (link?.height ?? 0)).toBeLessThanOrEqual(top.y);
    });
});

test("a history shows an empty value as a dash, and the way back beside each change in a narrow window", async () => {
  await database.pool.query(
    "update wh_warehouses set website = 'https://landlord.example/odense/shop', opens_at = '07:30' where code = 'OD01'",
  );
  await withJourney({ browser, service }, { token, width: 360 }, async ({ page, open }) => {
    await open("/warehouses");
    await cells(page).getByText("Odense shop").click();
    await page.getByRole("tab", { name: "History" }).click();
    const changes = page.locator(".history ul li");
    const website = changes.filter({ hasText: "Website" });
    await website.waitFor();
    expect(await website.innerText()).toMatch(/—\s*→\s*https/);
    expect(await website.locator("del").count()).toBe(0);
    const label = await website.locator(".label").boundingBox();
    const button = await website.getByRole("button").boundingBox();
    expect(button?.y).toBeLessThan((label?.y ?? 0) + (label?.height ?? 0));
  });
});

test("the tab of the address is in view in a narrow window", async () => {
  const { rows } = await database.pool.query<{ id: string }>("select id from users limit 1");
  await withJourney({ browser, service }, { token, width: 360 }, async ({ page, open }) => {
    await open(`/users/${rows[0]?.id}?tab=history`);
    const tab = page.getByRole("tab", { name: "History", selected: true });
    await tab.waitFor();
    await page.getByRole("tabpanel", { name: "History" }).waitFor();
    const box = await tab.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? Number.NaN) + (box?.width ?? 0)).toBeLessThanOrEqual(360);
  });
});

test("tabs do not move when one is chosen", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/warehouses");
    await cells(page).getByText("Copenhagen harbour").first().click();
    const history = page.getByRole("tab", { name: "History" });
    await history.waitFor();
    const before = await history.boundingBox();
    await page.getByRole("tab", { name: "Counts" }).click();
    await page.getByRole("tabpanel", { name: "Counts" }).waitFor();
    expect(await history.boundingBox()).toEqual(before);
  });
});
