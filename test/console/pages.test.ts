import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Locator, Page } from "playwright-core";
import { seedDatabase } from "../../dev/access/seed.ts";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney } from "../helpers/console/journey.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type Service, loginWith, startService } from "../helpers/service.ts";

interface Entity {
  name: string;
  title: string;
  keyField: string | null;
  hasHistory: boolean;
}

/** Runs as a script if a page uses it unescaped as HTML, an attribute or an address. */
const hostile = `"><img src=x onerror="window.taken=1"><script>window.taken=1</script>javascript:window.taken=1`;

let browser: Browser;
let database: TestDatabase;
let service: Service;
let token: string;
let entities: Entity[];

beforeAll(async () => {
  [browser, database] = await Promise.all([launchBrowser(), createDatabase()]);
  await seedDatabase(database.pool);
  await writeHostileTexts(database);
  service = await startService({ database });
  const { rows } = await database.pool.query<{ key: string }>("select key from permissions");
  ({ token } = await loginWith(
    database,
    rows.map(({ key }) => key),
  ));
  const { data } = await service.ask(
    "{ console { entities { name title keyField hasHistory } } }",
    {
      token,
    },
  );
  entities = data.console.entities as Entity[];
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await database.drop();
});

/** Writes the text into every text column of the first row of each table that pages show, unless a constraint rejects it. */
async function writeHostileTexts({ pool }: TestDatabase): Promise<void> {
  const { rows } = await pool.query<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'backoffice'::regnamespace and c.relkind = 'r'
       and obj_description(c.oid, 'pg_class') !~ '@internal\\y'
       and a.attnum > 0 and a.atttypid = 'text'::regtype and a.attgenerated = ''`,
  );
  let written = 0;
  for (const { table, column } of rows) {
    const text = `update "${table}" set "${column}" = $1 where ctid = (select min(ctid) from "${table}")`;
    // Constraints of codes, addresses and hashes reject it.
    written += await pool.query(text, [hostile]).then(
      () => 1,
      () => 0,
    );
  }
  expect(written).toBeGreaterThan(30);
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name });

/** Waits for a list; returns whether it has rows. */
async function openList(page: Page, { title }: Entity): Promise<boolean> {
  await heading(page, title).waitFor();
  await page.locator(":is([role=gridcell], [role=rowheader]) .text, .empty").first().waitFor();
  return (await page.locator("[role=gridcell]").count()) > 0;
}

/** Visible controls whose center is covered by another element. */
const covered = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const found = [];
    for (const control of document.querySelectorAll("main :is(a, button, input, select, textarea, h1, [role=tab])")) {
      const box = control.getBoundingClientRect();
      const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
      if (box.width === 0 || x < 0 || y < 0 || x > innerWidth || y > innerHeight) continue;
      const top = document.elementFromPoint(x, y);
      // What is scrolled under the head of a page is out of sight.
      const scroller = control.closest(".page-body, .grid, .tab-list");
      const within = scroller?.getBoundingClientRect();
      if (within && (x < within.left || x > within.right || y < within.top || y > within.bottom)) continue;
      if (top && !control.contains(top) && !top.contains(control)) found.push(control.outerHTML.slice(0, 160) + " under " + top.outerHTML.slice(0, 80));
    }
    return found;
  })()`);

describe("every page", () => {
  test("shows script-like texts as text and has no accessibility violation, light and dark", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, visit, expectAccessibleInBothThemes } = journey;
      const dialog = page.getByRole("dialog");
      let shown = 0;
      let histories = 0;
      await open();
      for (const entity of entities) {
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
        await visit(`/${entity.name}`);
        const hasRows = await openList(page, entity);
        await expectAccessibleInBothThemes();
        shown += await page.getByText("<script>").count();
        if (!hasRows || entity.keyField === null) continue;
        await page.getByRole("grid").focus();
        await page.keyboard.press("Space");
        await dialog.getByRole("tab").first().waitFor();
        await expectAccessibleInBothThemes("[role=dialog]");
        shown += await dialog.getByText("<script>").count();
        if (!entity.hasHistory) continue;
        await dialog.getByRole("tab", { name: "History", exact: true }).click();
        await page.locator(".tab-panel :is(.history, .dim)").first().waitFor();
        // The history looks the same for every table.
        if (histories++ < 3) await expectAccessibleInBothThemes(".tab-panel");
      }
      expect(shown).toBeGreaterThan(20);
      expect(await page.evaluate<boolean>(`"taken" in window`)).toBe(false);
    });
  });

  test("has no accessibility violation with an open menu or dialog, light and dark", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectAccessibleInBothThemes } = journey;
      /** Checks the opened element and closes it. */
      const look = async (opened: Locator) => {
        await opened.first().waitFor();
        await expectAccessibleInBothThemes();
        await page.keyboard.press("Escape");
        await opened.first().waitFor({ state: "detached" });
      };
      // Choices are dimmed while those for a text load, and their colour changes slowly.
      const settledOption = page.locator(".popover:not(.is-unsettled) [role=option]");
      await open("/products");
      await page.locator(":is([role=gridcell], [role=rowheader]) .text").first().waitFor();
      await page.getByRole("button", { name: "Columns" }).click();
      await look(page.getByRole("dialog", { name: "Shown columns" }));
      await page.getByRole("button", { name: /^Account/ }).click();
      await look(page.getByRole("menu"));
      await page.getByRole("grid").focus();
      await page.keyboard.press("?");
      // The focus returns a moment after a dialog closes; earlier key presses are lost.
      const grid = page.locator("[role=grid]:focus");
      await look(page.getByRole("dialog", { name: "Keyboard" }));
      await grid.waitFor();
      await page.keyboard.press("ControlOrMeta+k");
      await page.keyboard.type("wine");
      await look(page.getByRole("dialog", { name: "Go to, or search" }));
      await grid.waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("wineT");
      await look(page.getByRole("option"));
      await page.getByRole("grid").focus();
      await page.keyboard.press("Space");
      await page.getByRole("dialog").getByRole("combobox").first().focus();
      await look(settledOption);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await open("/users");
      await page.locator(":is([role=gridcell], [role=rowheader]) .text").first().waitFor();
      await page.getByRole("grid").focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Actions" }).click();
      await look(page.getByRole("menu"));
      // On a page, the list of choices is not modal.
      await open("/campaigns/new");
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.getByRole("combobox", { expanded: false }).first().focus();
      await look(settledOption);
    });
  });

  test("fails the check for low contrast in the dark theme alone", async () => {
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectAccessibleInBothThemes } = journey;
      await open("/colours");
      await heading(page, "Colours").waitFor();
      await page.evaluate(`{
        const sheet = new CSSStyleSheet();
        sheet.replaceSync("@media (prefers-color-scheme: dark) { .planted { color: #333; background: #222 } }");
        document.adoptedStyleSheets = [sheet];
        document.querySelector("h1").classList.add("planted");
      }`);
      await expect(expectAccessibleInBothThemes()).rejects.toThrow("color-contrast");
      await open("/colours");
      await heading(page, "Colours").waitFor();
    });
  });

  test("has no overlapping controls in a narrow window and at 400 %", async () => {
    for (const [width, height] of [
      [360, 740],
      [320, 256],
    ] as const) {
      await withJourney({ browser, service }, { token, width, height }, async ({ page, open }) => {
        for (const address of ["", "/products", "/campaigns", "/users", "/campaigns/new"]) {
          await open(address);
          await page.locator("h1").waitFor();
          await page
            .locator(":is([role=gridcell], [role=rowheader]) .text, .card, .empty")
            .first()
            .waitFor();
          // The choices of the first field are open.
          if (address.endsWith("/new"))
            await page.getByRole("listbox").getByRole("option").first().waitFor();
          expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(width);
          await page.keyboard.press("Escape");
          await page.getByRole("listbox").waitFor({ state: "detached" });
          expect({ address, covered: await covered(page) }).toEqual({ address, covered: [] });
        }
        await open("/products");
        await page.locator(":is([role=gridcell], [role=rowheader]) .text").first().waitFor();
        await page.getByRole("grid").focus();
        await page.keyboard.press("Enter");
        await page.getByRole("tab", { name: "Fields" }).waitFor();
        expect(await covered(page)).toEqual([]);
      });
    }
  });
});
