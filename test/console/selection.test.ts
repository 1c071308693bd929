import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, cells, withJourney } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let service: Service;
let token: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  const { pool } = service.database;
  ({ token } = await service.login([
    ...["products.read", "reviewers.read", "reviewers.create", "exports.create"],
  ]));
  await pool.query(
    "insert into reviewers (name) select 'Reviewer ' || lpad(n::text, 3, '0') from generate_series(1, 210) as n",
  );
  // The second reviewer cannot be deleted.
  await pool.query(
    `with wine as (insert into products (erp_product_number, name) values ('000001', 'Barolo') returning id)
     insert into product_ratings (product_id, reviewer_id, points)
     select wine.id, r.id, 92 from wine, reviewers r where r.name = 'Reviewer 002'`,
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

const journey = (work: (journey: Journey) => Promise<void>) =>
  withJourney({ browser, service }, { token }, work);

/** Selects the first rows of the list by keys. */
async function selectFirst(page: Page, count: number): Promise<void> {
  await page.getByRole("grid").and(page.locator(":focus")).waitFor();
  await page.keyboard.press("x");
  for (let more = 1; more < count; more++) await page.keyboard.press("Shift+ArrowDown");
  if (count > 100) {
    // Its page is loaded when the row before it is in view.
    await page.locator(".grid-row.is-current").getByText("Reviewer").waitFor();
    await page.keyboard.press("Shift+ArrowUp");
    await page.keyboard.press("Shift+ArrowDown");
  }
  const selected = count === 1 ? "1 row selected" : `${count} rows selected`;
  await page.locator(".status").getByText(selected).waitFor();
}

async function remaining(): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ name: string }>(
    "select name from reviewers order by name limit 4",
  );
  return rows.map(({ name }) => name);
}

describe("the selected rows of a list", () => {
  test("are deleted together, unless the user takes it back", async () => {
    await journey(async ({ page, open, expectAccessible }) => {
      await open("/reviewers");
      await selectFirst(page, 3);
      await page.getByRole("button", { name: "Delete" }).waitFor();
      await expectAccessible();
      await page.keyboard.press("Delete");
      await page.getByText("3 reviewers will be deleted").waitFor();
      expect(await page.locator("del").count()).toBeGreaterThan(0);
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByText("3 reviewers were kept").waitFor();
      expect(await page.locator("del").count()).toBe(0);
    });
    expect(await remaining()).toEqual([
      "Reviewer 001",
      "Reviewer 002",
      "Reviewer 003",
      "Reviewer 004",
    ]);
  });

  test("that other rows refer to stay, and the message names the first", async () => {
    await journey(async ({ page, open, expectProblem }) => {
      expectProblem("mutation Delete");
      await open("/reviewers");
      await selectFirst(page, 3);
      await page.getByRole("button", { name: "Delete" }).click();
      // Closing the message deletes at once.
      await page.getByRole("button", { name: "Close" }).click();
      await page
        .getByText("2 of 3 rows were deleted. Reviewer 002 was not: 1 product rating refers to it.")
        .waitFor();
      await waitFor("the deleted rows to go", async () => {
        const names = await cells(page).allTextContents();
        return names.includes("Reviewer 002") && !names.includes("Reviewer 003");
      });
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByRole("tab", { name: "Ratings", selected: true }).waitFor();
    });
    expect(await remaining()).toEqual([
      "Reviewer 002",
      "Reviewer 004",
      "Reviewer 005",
      "Reviewer 006",
    ]);
  });

  test("stay when somebody has changed them since the user saw them", async () => {
    await journey(async ({ page, open, expectProblem }) => {
      expectProblem("mutation Delete");
      await open("/reviewers?q=210");
      await selectFirst(page, 1);
      await service.database.pool.query(
        "update reviewers set name = 'Reviewer 210 of Rome' where name = 'Reviewer 210'",
      );
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByText("Reviewer 210 was not deleted").waitFor();
    });
    const { rowCount } = await service.database.pool.query(
      "select from reviewers where name = 'Reviewer 210 of Rome'",
    );
    expect(rowCount).toBe(1);
  });

  test("are at most a hundred to be deleted together", async () => {
    await journey(async ({ page, open }) => {
      await open("/reviewers");
      await selectFirst(page, 101);
      await page.getByRole("button", { name: "Delete" }).click();
      await page.getByText("At most 100 rows can be deleted together").waitFor();
      await page.getByRole("button", { name: "Clear selection" }).click();
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      expect(await page.locator(".status").innerText()).not.toContain("selected");
      expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    });
  });

  test("are exported instead of all rows that were found", async () => {
    await journey(async ({ page, open }) => {
      await open("/reviewers?q=reviewer");
      await page.getByText("rows found").waitFor();
      const menuOf = async () => {
        await page.getByRole("button", { name: "Export" }).click();
        return page.getByRole("menu").innerText();
      };
      expect(await menuOf()).toMatch(/^Rows found: 20\d/);
      await page.keyboard.press("Escape");
      await page.getByRole("grid").focus();
      await selectFirst(page, 2);
      expect(await menuOf()).toMatch(/^Selected rows: 2\n/);
      await page.getByRole("menuitem", { name: "CSV" }).click();
      await page.getByText("The export of reviewers has started").waitFor();
    });
    const { rows } = await service.database.pool.query(
      "select total_rows as rows from export_jobs",
    );
    expect(rows).toEqual([{ rows: 2 }]);
  });
});
