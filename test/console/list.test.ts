import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page, Request, Route } from "playwright-core";
import { insideSentence } from "../../src/text/insideSentence.ts";
import { launchBrowser } from "../helpers/console/browser.ts";
import { cells, tabTo, typeQuery, withJourney } from "../helpers/console/journey.ts";
import { type Service, loginWith, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

/** Many more rows than the page contains. `npm run bench -- console` measures 100,000. */
const productCount = 20_000;

let browser: Browser;
let service: Service;
let token: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  const { data } = await service.ask(
    `mutation { bootstrapFirstUser(email: "anna@example.com") { token } }`,
  );
  token = String(data.bootstrapFirstUser.token);
  // Without triggers, which take most of the time; these tests need neither the search engine nor the audit log.
  await service.database.pool.query(
    `set session_replication_role = replica;
     insert into products (erp_product_number, name, country, vintage, wine_type_id)
     select lpad(n::text, 6, '0'), 'Wine ' || lpad(n::text, 6, '0'),
       case when n % 5 = 0 then 'Italy' else 'France' end, 1990 + n % 30,
       (select id from wine_types where name = 'Red')
     from generate_series(1, ${productCount}) as n;
     reset session_replication_role`,
  );
  await service.database.pool.query("vacuum analyze products");
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

const grid = (page: Page) => page.getByRole("grid");
const firstRow = (page: Page) => page.locator("[aria-rowindex='2']");
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });

/** The left edges of elements, in pixels. */
async function lefts(page: Page, selector: string): Promise<number[]> {
  const boxes = await Promise.all(
    (await page.locator(selector).all()).map((element) => element.boundingBox()),
  );
  return boxes.map((box) => Math.round(box?.x ?? -1));
}

/** Types a query and submits it. */
async function ask(page: Page, query: string): Promise<void> {
  await page.locator(".cm-content").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(query);
  // The list of completions would handle the key.
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
}

interface Entity {
  name: string;
  title: string;
  titleOne: string;
  description: string | null;
  pagesField: string | null;
  defaultQuery: string | null;
  canCreate: { field: string } | null;
  missing: { verb: string; permission: string | null }[];
  fields: { title: string; description: string | null }[];
}

/** All lists of the schema. */
async function readEntities(): Promise<Entity[]> {
  const { data } = await service.ask(
    `{ console { entities { name title titleOne description pagesField defaultQuery canCreate { field }
       missing { verb permission } fields { title description } } } }`,
    { token },
  );
  return data.console.entities as Entity[];
}

async function countRows(pagesField: string, query: string | null): Promise<number> {
  const { data } = await service.ask(
    `query ($query: String) { page: ${pagesField}(query: $query, first: 1, includeTotalCount: true) { totalCount } }`,
    { token, variables: { query } },
  );
  return Number(data.page.totalCount);
}

/** Answers requests for the rows of a list as if it had none. */
async function withoutRows(route: Route): Promise<void> {
  const response = await route.fetch();
  const answer = (await response.json()) as { data?: { page?: unknown } };
  if (answer.data?.page) answer.data.page = { totalCount: 0, nodes: [] };
  await route.fulfill({ response, json: answer });
}

/** The comments of the columns are the hints of their headers. */
async function expectHints(page: Page, { name, fields }: Entity): Promise<void> {
  for (const head of await page.getByRole("columnheader").all()) {
    const title = (await head.textContent()) ?? "";
    const field = fields.find((one) => one.title === title);
    // The header of the boxes that select rows has no field.
    if (title === "") continue;
    expect({ name, title, hint: await head.getAttribute("title") }).toEqual({
      name,
      title,
      // A reference needs no comment.
      hint: field === undefined ? "unknown field" : field.description,
    });
  }
}

async function expectEmpty(page: Page, entity: Entity): Promise<void> {
  const { title, titleOne, description, canCreate, missing } = entity;
  const empty = page.locator(".empty");
  await empty.getByRole("heading", { name: `No ${insideSentence(title)} yet` }).waitFor();
  const text = await empty.innerText();
  expect(text).toContain(description?.replaceAll("`", ""));
  const create = missing.find(({ verb }) => verb === "create");
  if (canCreate !== null) {
    expect(text).toContain(`to create the first ${insideSentence(titleOne)}.`);
    await page.getByRole("button", { name: `New ${insideSentence(titleOne)}` }).waitFor();
  } else
    expect(text).toContain(
      create ? "You may read these rows but not add any" : "Rows appear here when the service",
    );
}

describe("every list", () => {
  test("shows its title, its comments as hints, its count, and what to do while it is empty", async () => {
    const entities = await readEntities();
    expect(entities.length).toBeGreaterThan(20);
    let filled = 0;
    await withJourney({ browser, service }, { token }, async ({ page, open, visit }) => {
      await open();
      for (const entity of entities) {
        const { name, title, description, pagesField, defaultQuery } = entity;
        expect({ name, description }).toEqual({
          name,
          description: expect.stringMatching(/\w+ .*\.$/),
        });
        await visit(`/${name}`);
        await heading(page, title).waitFor();
        if (pagesField === null) {
          // The rows are shown with those that they belong to.
          await page.locator(".empty a").first().waitFor();
          continue;
        }
        const count = await countRows(pagesField, defaultQuery);
        const shown = count.toLocaleString("en-GB");
        await page
          .getByRole("status")
          .getByText(`${shown} ${count === 1 ? "row" : "rows"} found`)
          .waitFor();
        expect(await page.locator(".title-line > .dim").textContent()).toBe(shown);
        expect(await page.locator("[role=alert]").count()).toBe(0);
        if (count > 0) {
          filled++;
          const hint = page.locator(".page-hint p");
          expect(await hint.innerText()).toBe(description?.replaceAll("`", ""));
          await expectHints(page, entity);
          await page.route("**/graphql", withoutRows);
          await open(`/${name}`);
        }
        if (defaultQuery !== null) {
          await page.locator(".empty").getByText(defaultQuery).waitFor();
          await page.locator(".empty").getByRole("button", { name: "Clear the query" }).click();
        }
        await expectEmpty(page, entity);
        expect(await page.locator(".page-hint").count()).toBe(0);
        if (count > 0) await page.unrouteAll({ behavior: "wait" });
      }
    });
    expect(filled).toBeGreaterThan(3);
    expect(filled).toBeLessThan(entities.length / 2);
  });

  test("without permission names the missing permission", async () => {
    const buyer = await loginWith(service.database, [
      "products.read",
      "products.update",
      "campaigns.read",
    ]);
    await withJourney({ browser, service }, { token: buyer.token }, async (journey) => {
      const { page, open, visit, show } = journey;
      await open("/orders");
      await page.getByText("orders.read").waitFor();
      await show("list-closed");
      const { data } = await service.ask(
        "{ console { closedEntities { name title permission } } }",
        { token: buyer.token },
      );
      const closed = data.console.closedEntities as Record<
        "name" | "title" | "permission",
        string
      >[];
      expect(closed.length).toBeGreaterThan(10);
      for (const { name, title, permission } of closed) {
        await visit(`/${name}`);
        await page.getByRole("alert").getByText(`You may not see ${title}`).waitFor();
        await page.getByText(`That needs the permission ${permission}.`).waitFor();
      }
      const links = page.getByRole("navigation").getByRole("link");
      expect(await links.allTextContents()).toEqual([
        "Today",
        "Notifications",
        "Products",
        "Wine types",
        "Campaigns",
        "Colours",
        // Every logged-in user can read these.
        "Notification settings",
        "Handbook",
        "Saved views",
        "Search watches",
        "Resources",
        "Bookings",
        "Absences",
        "Away",
        "Public holidays",
        "Calendar feeds",
        "Office settings",
        "Free resources",
        "Who is away",
        "Absence balances",
        "Handbook contents",
        "Search the handbook",
        "Deleted rows",
        "API tokens",
        "My sessions",
      ]);
    });
  });

  test("loads menus after it is shown, and opens them by keyboard", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      // Holds the script back until a key asks for the menu.
      const asked = Promise.withResolvers<undefined>();
      await page.route("**/AccountMenu-*.js", async (route) => {
        await asked.promise;
        await route.continue();
      });
      await open("/reviewers");
      await page.getByText("No reviewers yet").waitFor();
      const account = page.getByRole("button", { name: /^Account/ });
      expect(await account.getAttribute("aria-haspopup")).toBe("menu");
      await account.focus();
      await page.keyboard.press("ArrowUp");
      asked.resolve(undefined);
      const last = page.getByRole("menuitem", { name: "Log out" });
      await last.and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Escape");
      await account.and(page.locator(":focus")).waitFor();
      expect(await account.getAttribute("aria-expanded")).toBe("false");
      await page.keyboard.press("Enter");
      await page
        .getByRole("menuitem", { name: "My profile" })
        .and(page.locator(":focus"))
        .waitFor();
      await page.keyboard.press("Escape");
      await account.and(page.locator(":focus")).waitFor();

      const columns = page.getByRole("button", { name: "Columns" });
      await columns.focus();
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Shown columns" });
      await dialog.getByRole("checkbox").first().waitFor();
      await page.keyboard.press("Escape");
      await columns.and(page.locator(":focus")).waitFor();
    });
  });
});

describe("a long list", () => {
  test("reaches any row by keyboard, with few rows in the page and aligned columns", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      await expectAccessible();
      await grid(page).focus();
      await page.keyboard.press("ControlOrMeta+End");
      const last = page.locator(`[aria-rowindex='${productCount + 1}']`);
      await last.getByText("Wine 020000").waitFor();
      expect(await page.getByRole("row").count()).toBeLessThan(80);
      const heads = await lefts(page, "[role=columnheader]");
      expect(heads.length).toBeGreaterThan(5);
      expect(await lefts(page, `[aria-rowindex='${productCount - 10}'] .grid-cell`)).toEqual(heads);
      await page.keyboard.press("ControlOrMeta+Home");
      await firstRow(page).getByText("Wine 000001").waitFor();
    });
  });

  test("shows its first rows after few requests and little work of the page's main thread", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, context, open }) => {
      const devtools = await context.newCDPSession(page);
      // The processor time of the thread, which a busy machine changes less than the time.
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      const loads: { queries: number; cpuMs: number }[] = [];
      for (let load = 0; load < 3; load++) {
        let queries = 0;
        const count = (request: Request) => {
          if (request.url().endsWith("/graphql")) queries++;
        };
        page.on("request", count);
        await open("/products");
        await firstRow(page).getByText("Wine 000001").waitFor();
        const { metrics } = await devtools.send("Performance.getMetrics");
        page.off("request", count);
        const cpu = metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
        loads.push({ queries, cpuMs: cpu * 1000 });
        expect(await page.getByRole("row").count()).toBeLessThanOrEqual(80);
      }
      // Three, so that no cell and no row has a request.
      for (const { queries } of loads) expect(queries).toBeLessThanOrEqual(5);
      // About 100 ms; the benchmark of the console measures the exact figure.
      expect(Math.min(...loads.map(({ cpuMs }) => cpuMs))).toBeLessThan(600);
    });
  });

  test("tells the row that was loading when its cell was reached", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      let release = () => {};
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route("**/graphql", async (route) => {
        await released;
        await route.continue();
      });
      await page.keyboard.press("ControlOrMeta+End");
      await page.locator(".grid-cell.is-current").getByText("Loading").waitFor();
      release();
      await page.getByRole("status").filter({ hasText: "Wine 020000" }).waitFor();
    });
  });

  test("fits a column to its rows when its edge is clicked twice", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      const title = page.getByRole("columnheader", { name: "Name" });
      const { width: before } = (await title.boundingBox()) ?? { width: 0 };
      await title.locator(".grid-size").dblclick();
      await waitFor("the column to be as wide as its texts", async () => {
        const { width } = (await title.boundingBox()) ?? { width: 0 };
        return width < before && width > 60;
      });
      const cut = await page.evaluate<number>(
        "[...document.querySelectorAll('.grid-cell.is-name .text')].filter((text) => text.scrollWidth > text.clientWidth).length",
      );
      expect(cut).toBe(0);
    });
  });

  test("keeps search and order in its address, and Back returns to earlier queries", async () => {
    let address = "";
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      await ask(page, "country:Italy ");
      await page.getByText("4,000 rows found").waitFor();
      // The empty part of the header sorts, too.
      const head = page.getByRole("columnheader", { name: "Number" });
      const { width, height } = (await head.boundingBox()) ?? { width: 0, height: 0 };
      await head.click({ position: { x: width - 14, y: height - 3 } });
      // A second click before the first one shows would ask for the same order.
      await page.locator("[aria-sort=ascending]").waitFor();
      await page.getByRole("button", { name: "Sort by Number" }).click();
      await firstRow(page).getByText("Wine 020000").waitFor();
      address = page.url();
      expect(address).toContain("q=country:Italy");
      await page.goBack();
      await page.goBack();
      await firstRow(page).getByText("Wine 000005").waitFor();
      await page.goBack();
      await page.getByText("20,000 rows found").waitFor();
    });
    // In another browser, without stored state.
    await withJourney({ browser, service }, { token }, async ({ page }) => {
      await page.goto(address);
      await firstRow(page).getByText("Wine 020000").waitFor();
      await page.getByText("4,000 rows found").waitFor();
    });
  });

  test("marks an unknown field and inserts the suggested name with Tab", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, show, expectProblem } = journey;
      // A rejected query returns an error.
      expectProblem("400 POST /graphql");
      await open("/products?q=vintgae:2016");
      await page.getByText("did you mean `vintage`").waitFor();
      expect(await page.locator(".cm-lintRange-error").textContent()).toContain("vintgae");
      await show("query-problem");
      await page.locator(".cm-content").focus();
      await page.keyboard.press("Tab");
      expect(await page.locator(".cm-content").textContent()).toContain("vintage:2016");
      await page.keyboard.press("Enter");
      await firstRow(page).getByText("Wine 000026").waitFor();
    });
  });

  test("joins the lines of a pasted query", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await page.locator(".cm-content").waitFor();
      await page.keyboard.press("/");
      await page.evaluate(`{
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", "vintage:2016\\r\\n  wineType.name:Red\\n");
        document.querySelector(".cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
      }`);
      expect(await page.locator(".cm-content").textContent()).toBe(
        "vintage:2016 wineType.name:Red",
      );
    });
  });

  test("suggests fields and values during typing", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, show }) => {
      await open("/products");
      await typeQuery(page, "wineType.na");
      await page.getByRole("option", { name: /wineType\.name/ }).waitFor();
      await show("query-completion");
      await page.keyboard.press("Tab");
      await page.getByRole("option", { name: "Sparkling" }).waitFor();
      await page.keyboard.type("Re");
      await page.getByRole("option", { name: "Sparkling" }).waitFor({ state: "detached" });
      await page.getByRole("option", { name: "Red" }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByText("20,000 rows found").waitFor();
      expect(page.url()).toContain("wineType.name:Red");
    });
  });

  test("explains a suggested field without words of the database", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await typeQuery(page, "vintag");
      await page.getByRole("option", { name: /^vintage/ }).waitFor();
      const hint = page.locator(".cm-completionInfo");
      await hint.waitFor();
      expect(await hint.textContent()).toBe(
        "The year of the harvest; empty for wines without a vintage.",
      );
      // Playwright takes an element that its parent cuts off as visible.
      const isShown = () =>
        page.evaluate<boolean>(`(() => {
          const element = document.querySelector(".cm-completionInfo");
          const { left, top, width, height } = element.getBoundingClientRect();
          return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        })()`);
      await waitFor("the explanation beside the list", isShown);
    });
  });

  test("suggests fields and values of rows that a join table leads to", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/users");
      await typeQuery(page, "roles.na");
      await page.getByRole("option", { name: /roles\.name/ }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.type("Super");
      const options = page.getByRole("option");
      await options.filter({ hasNotText: "Superadmin" }).first().waitFor({ state: "detached" });
      await options.filter({ hasText: "Superadmin" }).waitFor();
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByText("1 row found").waitFor();
      expect(page.url()).toContain("roles.name:Superadmin");
    });
  });
});

describe("a list in other environments", () => {
  test("has no accessibility violation in dark, narrow and enlarged windows", async () => {
    const dark = { token, colorScheme: "dark" as const };
    await withJourney({ browser, service }, dark, async ({ page, open }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
    });
    const narrow = { token, width: 360, height: 740 };
    await withJourney({ browser, service }, narrow, async ({ page, open, expectAccessible }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      await expectAccessible();
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      expect(width).toBeLessThanOrEqual(360);
      // The value beside the name is seen without scrolling.
      const beside = await firstRow(page).getByText("000001", { exact: true }).boundingBox();
      expect((beside?.x ?? 360) + (beside?.width ?? 0)).toBeLessThan(348);
      await page.getByRole("button", { name: "Menu" }).click();
      await page.getByRole("dialog").getByRole("link", { name: "Campaigns" }).click();
      await heading(page, "Campaigns").waitFor();
    });
  });

  test("shows all of its description by keyboard where the line is too short for it", async () => {
    const products = (await readEntities()).find(({ name }) => name === "products");
    const small = { token, width: 360, height: 740 };
    await withJourney({ browser, service }, small, async ({ page, open, expectAccessible }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      const hint = page.getByText(products?.description ?? "", { exact: true });
      const lines = async () => Math.round(((await hint.boundingBox())?.height ?? 0) / 16);
      expect(await lines()).toBe(1);
      const more = page.getByRole("button", { name: "More about this list" });
      await tabTo(more);
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Less about this list", expanded: true }).waitFor();
      expect(await lines()).toBeGreaterThan(1);
      await expectAccessible();
      await page.keyboard.press("Enter");
      await more.waitFor();
      expect(await lines()).toBe(1);
    });
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      expect(await page.getByRole("button", { name: "More about this list" }).count()).toBe(0);
    });
  });

  test("offers the lists with the nearest names when there is none of a name", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/prodcts");
      await page.getByText("There is no list “prodcts”").waitFor();
      await page.getByText("Did you mean").getByRole("link", { name: "Products" }).click();
      await firstRow(page).getByText("Wine 000001").waitFor();
      // A title, where the name is `exportJobs`.
      await open("/exports");
      await page.getByText("Did you mean").getByRole("link", { name: "Exports" }).waitFor();
    });
  });

  test("opens rows in a browser without requestIdleCallback, such as Safari", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, context, open }) => {
      await context.addInitScript("window.requestIdleCallback = undefined");
      await open("/products");
      await firstRow(page).getByText("Wine 000001").waitFor();
      await grid(page).focus();
      await page.keyboard.press("Space");
      await page.getByRole("dialog").getByRole("tab", { name: "Fields" }).waitFor();
    });
  });

  test("opens another list with Ctrl K and shows its keys with ?", async () => {
    await withJourney(
      { browser, service },
      { token },
      async ({ page, open, show, expectAccessible }) => {
        await open("/products");
        await firstRow(page).getByText("Wine 000001").waitFor();
        await page.keyboard.press("?");
        await page.getByRole("dialog").getByText("Keyboard").waitFor();
        await show("keys");
        await page.keyboard.press("Escape");
        await page.keyboard.press("ControlOrMeta+k");
        await page.getByRole("dialog").waitFor();
        await page.keyboard.type("depart");
        await page.getByRole("option", { name: /Departments/ }).waitFor();
        await expectAccessible();
        await page.keyboard.press("ControlOrMeta+a");
        await page.keyboard.type("019999");
        await page.getByRole("option", { name: /Wine 019999/ }).waitFor();
        await page.keyboard.press("ControlOrMeta+a");
        await page.keyboard.type("depart");
        await page.getByRole("option", { name: /Departments/ }).waitFor();
        await page.keyboard.press("Enter");
        await heading(page, "Departments").waitFor();
      },
    );
  });
});

test("a list takes the keys when it opens, and Back returns to its row", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/products");
    await page.locator("[role='grid']:focus").waitFor();
    await page.keyboard.press("PageDown");
    await page.keyboard.press("PageDown");
    for (let n = 0; n < 3; n++) await page.keyboard.press("j");
    const current = page.locator("[role='row'].is-current");
    const row = await current.getAttribute("aria-rowindex");
    expect(Number(row)).toBeGreaterThan(20);
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: "Fields" }).waitFor();
    await page.goBack();
    await grid(page).waitFor();
    await page.locator(`[role='row'].is-current[aria-rowindex='${row}']`).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("tab", { name: "Fields" }).waitFor();
    // A new visit to the list starts at its first row.
    await page.getByRole("link", { name: "Products" }).first().click();
    await page.locator("[role='row'].is-current[aria-rowindex='2']").waitFor();
  });
});

test("rows of every list are found by name, and users without a name by their address", async () => {
  await service.login([], "quist@wine.example");
  await service.database.pool.query(
    "insert into resources (name, kind) values ('Quist tasting set', 'TASTING_SET')",
  );
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/users?q=quist");
    const addresses = cells(page).getByText("quist@wine.example");
    await addresses.first().waitFor();
    expect(await addresses.count()).toBe(2);
    await page.keyboard.press("ControlOrMeta+k");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.type("quist");
    await page.getByRole("option", { name: /quist@wine.example/ }).waitFor();
    await page.getByRole("option", { name: /Quist tasting set/ }).waitFor();
  });
});

test("Ctrl K shows a row with exactly the typed name first, and times as lists do", async () => {
  const { pool } = service.database;
  // 20,000 names begin with the same word, and so do the titles of lists.
  await pool.query(
    `insert into products (id, erp_product_number, name) values ('ffffffff-0000-7000-8000-000000000000', 'exact', 'Wine');
     insert into customers (erp_customer_number, name) values ('C1', 'Vinhandel');
     insert into customer_notes (customer_id, body, created_at) select id, 'Wineglasses by the case', now() - interval '2 hours' from customers`,
  );
  try {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open();
      await heading(page, "Today").waitFor();
      await page.keyboard.press("ControlOrMeta+k");
      const options = page.getByRole("dialog").getByRole("option");
      await options.first().waitFor();
      await page.keyboard.type("wine");
      await options.filter({ hasText: "exact" }).waitFor();
      await options.filter({ hasText: "Wine types" }).waitFor();
      expect(await options.first().innerText()).toMatch(/^Wine\s+exact$/);
      const note = options.filter({ hasText: "Wineglasses by the case" });
      await note.waitFor();
      expect(await note.innerText()).toMatch(/\s2 hours ago$/);
      await page.keyboard.press("Enter");
      await heading(page, "Wine").waitFor();
    });
  } finally {
    await pool.query(
      "delete from products where erp_product_number = 'exact'; delete from customers",
    );
  }
});

test("a list is exported with its query, its order and its columns", async () => {
  await withJourney(
    { browser, service },
    { token },
    async ({ page, open, show, expectAccessible }) => {
      await open(
        "/products?q=country:Italy%20vintage:1995&order=NAME_DESC&cols=name,wineTypeId,vintage",
      );
      await page.getByRole("button", { name: "Export" }).click();
      await show("export-menu");
      await expectAccessible();
      await page.getByRole("menuitem", { name: "CSV" }).click();
      await page.getByText("The export of products has started").waitFor();
      await page.getByRole("button", { name: "Show it" }).click();
      await page.getByText("country:Italy vintage:1995").waitFor();
    },
  );
  const { rows } = await service.database.pool.query<{ fields: string[]; statement: string }>(
    "select array(select c ->> 'field' from jsonb_array_elements(l.columns) as c) as fields, l.statement from export_job_lists l",
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]?.fields).toEqual(["name", "wineType.name", "vintage"]);
  expect(rows[0]?.statement).toMatch(/order by \S+"name" desc/);
});

describe("the export menu", () => {
  const itemsAt = async (page: Page, query: string): Promise<string[]> => {
    await page.getByRole("button", { name: "Export" }).click();
    await page.getByRole("menuitem", { name: query }).waitFor();
    return page.getByRole("menuitem").allTextContents();
  };

  test("offers the templates of the list, whose name the export gets", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await open("/products?q=country:Italy%20vintage:1995");
      const items = await itemsAt(page, "With template Price list");
      expect(items.slice(3)).toEqual([
        "Save columns as template …",
        "With template Price list",
        "With template Stock and ratings",
      ]);
      await expectAccessible();
      await page.getByRole("menuitem", { name: "With template Price list" }).click();
      await page.getByText("The export of products has started").waitFor();
    });
    const { rows } = await service.database.pool.query(
      "select source, format, query from export_jobs where template_id is not null",
    );
    expect(rows).toEqual([
      { source: "Price list", format: "xlsx", query: "country:Italy vintage:1995" },
    ]);
  });

  test("offers a form for one row", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/products?q=000007");
      await page.getByText("1 row found").waitFor();
      expect(await itemsAt(page, "With template Tasting sheet")).toHaveLength(7);
    });
  });

  test("saves the columns of the list as a template", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await open("/products?cols=name,wineTypeId,vintage");
      await page.getByRole("button", { name: "Export" }).click();
      await page.getByRole("menuitem", { name: "Save columns as template …" }).click();
      await heading(page, "New template").waitFor();
      await expectAccessible();
      // The name has the focus.
      await page.locator("[data-field=name] input:focus").waitFor();
      await page.keyboard.type("Types and vintages");
      await page.keyboard.press("ControlOrMeta+s");
      await heading(page, "Types and vintages").waitFor();
    });
    const { rows } = await service.database.pool.query(
      `select t.entity, t.kind, array(
         select c.field || ' ' || c.title from export_template_columns c where c.template_id = t.id order by c.position
       ) as columns
       from export_templates t where t.name = 'Types and vintages'`,
    );
    expect(rows).toEqual([
      {
        entity: "products",
        kind: "TABLE",
        columns: ["name Name", "wineType.name Wine type", "vintage Vintage"],
      },
    ]);
    await service.database.pool.query(
      "delete from export_templates where name = 'Types and vintages'",
    );
  });

  test("offers no template of another list, and none without the permission", async () => {
    const buyer = await loginWith(service.database, ["products.read", "exports.create"]);
    const formats = ["Excel workbook", "CSV", "JSON Lines"];
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/roles");
      const answered = page.waitForResponse((response) =>
        (response.request().postData() ?? "").includes("exportTemplates"),
      );
      await page.getByRole("button", { name: "Export" }).click();
      await answered;
      expect(await page.getByRole("menuitem").allTextContents()).toEqual([
        ...formats,
        "Save columns as template …",
      ]);
    });
    await withJourney({ browser, service }, { token: buyer.token }, async ({ page, open }) => {
      await open("/products?q=000007");
      expect(await itemsAt(page, "CSV")).toEqual(formats);
    });
  });
});

describe("the keys that ? lists", () => {
  /** The row and the column of the current cell, counted from 0. */
  const place = async (page: Page) =>
    ((await grid(page).getAttribute("aria-activedescendant")) ?? "")
      .split("-")
      .slice(-2)
      .map(Number);
  const reach = (page: Page, isThere: (row: number, column: number) => boolean) =>
    waitFor("the current cell", async () => {
      const [row = Number.NaN, column = Number.NaN] = await place(page);
      return isThere(row, column);
    });
  const press = async (page: Page, ...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  const openRow = async (page: Page) => {
    await press(page, "Enter");
    await page.getByRole("tab", { name: "Fields" }).waitFor();
  };
  const openFirstRow = async (page: Page, list: string) => {
    await page.goto(`${service.url}/admin/${list}`);
    await page.locator("[role='grid']:focus").waitFor();
    await openRow(page);
  };
  const deleteRow = async (page: Page) => {
    await openFirstRow(page, "wineTypes");
    await press(page, "Delete");
    await page.getByText(/ will be deleted/).waitFor();
  };
  const expectLinkCopied = async (page: Page) => {
    await press(page, "y");
    await page.getByText("Link copied").waitFor();
    expect(await page.evaluate<string>("navigator.clipboard.readText()")).toBe(page.url());
  };

  /** What each key does, by the heading and the keys of the dialog, from the first row of the list of products. */
  const effects: Readonly<Record<string, (page: Page) => Promise<void>>> = {
    "Everywhere: Ctrl K": async (page) => {
      await press(page, "ControlOrMeta+k");
      await page.getByRole("dialog", { name: "Go to, or search" }).waitFor();
    },
    "Everywhere: ?": async (page) => {
      await press(page, "?");
      await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
    },
    "Everywhere: g then t": async (page) => {
      await press(page, "g", "t");
      await heading(page, "Today").waitFor();
    },
    "Everywhere: g then a letter": async (page) => {
      await press(page, "g", "d");
      await heading(page, "Departments").waitFor();
    },
    "Everywhere: u": async (page) => {
      await deleteRow(page);
      await press(page, "u");
      await page.getByText(/ was kept/).waitFor();
    },
    "Everywhere: Esc": async (page) => {
      await press(page, "?");
      const dialog = page.getByRole("dialog", { name: "Keyboard" });
      await dialog.waitFor();
      await press(page, "Escape");
      await dialog.waitFor({ state: "detached" });
    },
    "In a list: /": async (page) => {
      await page.locator(".cm-content").waitFor();
      await press(page, "/");
      await page.locator(".cm-content:focus").waitFor();
    },
    "In a list: ↑ ↓ or j k": async (page) => {
      for (const [name, expected] of [
        ["ArrowDown", 1],
        ["j", 2],
        ["ArrowUp", 1],
        ["k", 0],
      ] as const) {
        await press(page, name);
        await reach(page, (row) => row === expected);
      }
    },
    "In a list: ← →": async (page) => {
      const [, column = 0] = await place(page);
      await press(page, "ArrowRight");
      await reach(page, (_row, at) => at === column + 1);
      await press(page, "ArrowLeft");
      await reach(page, (_row, at) => at === column);
    },
    "In a list: Shift ← →": async (page) => {
      const title = page.getByRole("columnheader").locator("visible=true").nth(1);
      const { width } = (await title.boundingBox()) ?? { width: 0 };
      await press(page, "Home", "ArrowRight", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowRight");
      await waitFor(
        "the column to be wider",
        async () => (await title.boundingBox())?.width === width + 32,
      );
      await press(page, "Shift+ArrowLeft", "Shift+ArrowLeft");
      await waitFor(
        "the column to be as before",
        async () => (await title.boundingBox())?.width === width,
      );
      await press(page, "ArrowDown");
    },
    "In a list: PgUp PgDn Home End": async (page) => {
      await press(page, "PageDown");
      await reach(page, (row) => row > 5);
      await press(page, "PageUp");
      await reach(page, (row) => row === 0);
      await press(page, "End");
      await reach(page, (_row, column) => column > 5);
      await press(page, "Home");
      await reach(page, (_row, column) => column < 2);
    },
    "In a list: Ctrl Home, Ctrl End": async (page) => {
      await press(page, "ControlOrMeta+End");
      await reach(page, (row) => row === productCount - 1);
      await press(page, "ControlOrMeta+Home");
      await reach(page, (row) => row === 0);
    },
    "In a list: Enter": openRow,
    "In a list: Space": async (page) => {
      await press(page, "Space");
      await page.getByRole("dialog").getByRole("tab", { name: "Fields" }).waitFor();
      await grid(page).waitFor({ state: "attached" });
    },
    "In a list: x, Shift ↑ ↓, Ctrl A": async (page) => {
      const status = page.locator(".status");
      await press(page, "x");
      await status.getByText("1 row selected").waitFor();
      await press(page, "Shift+ArrowDown", "Shift+ArrowDown");
      await status.getByText("3 rows selected").waitFor();
      await press(page, "Shift+ArrowUp");
      await status.getByText("2 rows selected").waitFor();
      await press(page, "ControlOrMeta+a");
      await status.getByText(/20,?000 rows selected/).waitFor();
    },
    "In a list: e": async (page) => {
      await press(page, "x");
      // The shortcut comes with the button.
      await page.getByRole("button", { name: "Edit" }).waitFor();
      await press(page, "e");
      await page.getByRole("dialog", { name: "Edit 1 product" }).waitFor();
    },
    "In a list: .": async (page) => {
      await page.goto(`${service.url}/admin/users`);
      await page.locator("[role='grid']:focus").waitFor();
      await press(page, "x");
      await page.locator(".status").getByRole("button", { name: "Actions" }).waitFor();
      await press(page, ".");
      await page.getByRole("menuitem").first().waitFor();
    },
    "In a list: Delete": async (page) => {
      await page.goto(`${service.url}/admin/wineTypes`);
      await page.locator("[role='grid']:focus").waitFor();
      await press(page, "x");
      // The shortcut comes with the button.
      await page.getByRole("button", { name: "Delete" }).waitFor();
      await press(page, "Delete");
      await page.getByText(/ will be deleted/).waitFor();
      await press(page, "u");
      await page.getByText(/ was kept/).waitFor();
    },
    "In a list: s": async (page) => {
      await press(page, "Home", "ArrowRight", "s");
      await page.locator("[aria-sort=ascending], [aria-sort=descending]").first().waitFor();
      expect(page.url()).toContain("order=");
    },
    "In a list: n": async (page) => {
      await press(page, "n");
      await heading(page, "New product").waitFor();
    },
    "In a list: v": async (page) => {
      await press(page, "v");
      await page.getByRole("menuitem", { name: "Save as new view" }).waitFor();
    },
    "In a list: y": expectLinkCopied,
    "In a record: Ctrl S": async (page) => {
      await openRow(page);
      await page.getByRole("textbox", { name: "Region", exact: true }).fill("Alba");
      await press(page, "ControlOrMeta+s");
      await page.getByText("Saved", { exact: true }).first().waitFor();
    },
    "In a record: e": async (page) => {
      await openRow(page);
      await press(page, "e");
      await page.locator("[data-field] :is(input, textarea, select):focus").waitFor();
    },
    "In a record: h": async (page) => {
      await openRow(page);
      await press(page, "h");
      await page.getByRole("tab", { name: "History", selected: true }).waitFor();
    },
    "In a record: .": async (page) => {
      await openFirstRow(page, "users");
      await page.getByRole("button", { name: "Actions" }).waitFor();
      await press(page, ".");
      await page.getByRole("menuitem").first().waitFor();
    },
    "In a record: Delete": async (page) => {
      await deleteRow(page);
      await press(page, "u");
      await page.getByText(/ was kept/).waitFor();
    },
    "In a record: [ ]": async (page) => {
      await openRow(page);
      await press(page, "]");
      await heading(page, "Wine 000002").waitFor();
      await press(page, "[");
      await heading(page, "Wine 000001").waitFor();
    },
    "In a record: y": async (page) => {
      await openRow(page);
      await expectLinkCopied(page);
    },
  };

  test("each have their effect", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, context, open }) => {
      await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      const openList = async () => {
        await open("/products");
        await page.locator("[role='grid']:focus").waitFor();
        await firstRow(page).getByText("Wine 000001").waitFor();
      };
      await openList();
      await press(page, "?");
      await page.getByRole("dialog").locator("kbd").first().waitFor();
      const listed: string[] = [];
      for (const group of await page.getByRole("dialog").locator("div:has(> h3)").all()) {
        const title = await group.locator("h3").innerText();
        for (const key of await group.locator("kbd").allInnerTexts())
          listed.push(`${title}: ${key}`);
      }
      // A new key needs its effect here.
      expect(listed).toEqual(Object.keys(effects));
      for (const [key, expectEffect] of Object.entries(effects)) {
        await openList();
        await expectEffect(page).catch((error: unknown) => {
          throw new Error(`no effect of ${key}`, { cause: error });
        });
      }
    });
  });
});
