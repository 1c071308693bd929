import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, cells, withJourney } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let service: Service;
let token: string;
let userId: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  const { pool } = service.database;
  ({ token, userId } = await service.login([
    ...["products.read", "products.update", "reviewers.read", "reviewers.create"],
    ...["exports.create", "users.read", "users.update", "absences.read", "absences.update"],
    ...["departments.read", "departments.update"],
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

  test("are deleted by one request if they are more than a hundred: all or none", async () => {
    await journey(async ({ page, open, expectProblem, expectAccessible }) => {
      expectProblem("mutation DeleteMany");
      await open("/reviewers");
      await selectFirst(page, 101);
      await page.getByRole("button", { name: "Delete" }).click();
      const refusal = page.getByRole("alertdialog", { name: "101 reviewers were not deleted" });
      await refusal.getByText("Reviewer 002: Other rows still refer to this one").waitFor();
      await expectAccessible();
      await refusal.getByRole("button", { name: "Close" }).click();
      await page.getByRole("button", { name: "Clear selection" }).click();
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      expect(await page.locator(".status").innerText()).not.toContain("selected");
      expect(await page.getByRole("button", { name: "Delete" }).count()).toBe(0);
    });
    const { rowCount } = await service.database.pool.query("select from reviewers");
    expect(rowCount).toBeGreaterThan(200);
  });

  test("are deleted after a question if all that match are selected", async () => {
    await service.database.pool.query(
      "insert into reviewers (name) select 'Guest ' || n from generate_series(1, 3) as n",
    );
    const guests = async () =>
      (await service.database.pool.query("select from reviewers where name like 'Guest %'"))
        .rowCount;
    await journey(async ({ page, open, expectAccessible }) => {
      await open("/reviewers?q=guest");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await page.keyboard.press("ControlOrMeta+a");
      await page.getByText("3 rows selected").waitFor();
      await page.getByRole("button", { name: "Delete" }).waitFor();
      await page.keyboard.press("Delete");
      const question = page.getByRole("alertdialog", { name: "Delete 3 reviewers?" });
      await question.getByRole("button", { name: "Delete 3 reviewers" }).waitFor();
      await expectAccessible();
      await page.keyboard.press("Escape");
      await question.waitFor({ state: "detached" });
      expect(await guests()).toBe(3);
      await page.getByRole("button", { name: "Delete" }).click();
      await question.getByRole("button", { name: "Delete 3 reviewers" }).click();
      await page.getByText("3 reviewers were deleted").waitFor();
      await page.getByText("Nothing matches this query").waitFor();
    });
    expect(await guests()).toBe(0);
  });

  test("that belong to others stay, and references to closed lists are not offered", async () => {
    const { pool } = service.database;
    await pool.query(
      `with other as (insert into users (email, name) values ('other@example.com', 'Other') returning id)
       insert into saved_views (user_id, name, entity, role_id)
       select u.user_id, v.name, 'products', case v.name when 'C' then u.role_id end
       from user_roles u, (values ('A'), ('B')) as v(name) where u.user_id = $1
       union all select other.id, 'C', 'products', u.role_id from other, user_roles u where u.user_id = $1`,
      [userId],
    );
    await journey(async ({ page, open }) => {
      await open("/savedViews");
      await selectFirst(page, 3);
      await page.getByRole("button", { name: "Edit" }).click();
      const form = page.getByRole("dialog", { name: "Edit 2 saved views" });
      await form.getByRole("checkbox", { name: "Name" }).waitFor();
      expect(await form.getByRole("checkbox", { name: "Shared with" }).count()).toBe(0);
      await page.keyboard.press("Escape");
      await form.waitFor({ state: "detached" });
      await page.keyboard.press("Delete");
      await page
        .getByText("2 saved views will be deleted. Another is not yours and stays.")
        .waitFor();
      await page.getByRole("button", { name: "Close" }).click();
      await page.getByText("2 saved views were deleted").waitFor();
    });
    const { rows } = await pool.query("select name from saved_views");
    expect(rows).toEqual([{ name: "C" }]);
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

describe("the selected rows of a list are changed together", () => {
  const wines = ["Amarone", "Brunello", "Chianti", "Dolcetto"];
  const vintages = async () => {
    const { rows } = await service.database.pool.query<{ name: string; vintage: number | null }>(
      "select name, vintage from products where name = any ($1) order by name",
      [wines],
    );
    return Object.fromEntries(rows.map(({ name, vintage }) => [name, vintage]));
  };
  const former = { Amarone: 2010, Brunello: 2010, Chianti: 2012, Dolcetto: null };

  beforeAll(async () => {
    await service.database.pool.query(
      `insert into products (erp_product_number, name, vintage)
       select '00001' || n, name, vintage from unnest($1::text[], $2::int[]) with ordinality as wine(name, vintage, n)`,
      [wines, Object.values(former)],
    );
  });

  /** Opens the form for the four wines, with the field for the vintage. */
  const openForm = async (page: Page, open: Journey["open"]) => {
    await open(`/products?q=${encodeURIComponent(wines.join(" OR "))}`);
    await selectFirst(page, 4);
    await page.getByRole("button", { name: "Edit" }).waitFor();
    await page.keyboard.press("e");
    const form = page.getByRole("dialog", { name: "Edit 4 products" });
    await form.getByRole("checkbox", { name: "Vintage" }).check();
    return { form, vintage: form.getByRole("textbox", { name: "Vintage" }) };
  };

  test("in the chosen fields, which the user can take back", async () => {
    await journey(async ({ page, open, expectAccessible }) => {
      const { form, vintage } = await openForm(page, open);
      await form.getByText("Now: 2010 (2); 2012 (1); — (1).").waitFor();
      expect(await vintage.inputValue()).toBe("");
      await expectAccessible();
      await vintage.fill("2016");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("4 products were changed").waitFor();
      expect(await vintages()).toEqual({
        Amarone: 2016,
        Brunello: 2016,
        Chianti: 2016,
        Dolcetto: 2016,
      });
      await page.keyboard.press("u");
      await page.getByText("4 products have their former values again").waitFor();
      expect(await vintages()).toEqual(former);
    });
  });

  test("unless a value is wrong, which its field says", async () => {
    await journey(async ({ page, open, expectProblem }) => {
      expectProblem("mutation Update");
      const { form, vintage } = await openForm(page, open);
      await vintage.fill("12");
      await page.keyboard.press("ControlOrMeta+s");
      await form.getByText("Nothing was changed: Amarone cannot have these values.").waitFor();
      expect(await form.locator("[data-field=vintage] .error").innerText()).toContain("Vintage");
      await page.keyboard.press("Escape");
      await page.getByText("Leave with unsaved changes?").waitFor();
      await page.getByRole("button", { name: "Discard" }).click();
      await form.waitFor({ state: "detached" });
    });
    expect(await vintages()).toEqual(former);
  });

  test("but not those that somebody has changed meanwhile, until the user saves again", async () => {
    await journey(async ({ page, open, expectProblem }) => {
      expectProblem("mutation Update");
      const { form, vintage } = await openForm(page, open);
      await service.database.pool.query(
        "update products set vintage = 2019 where name in ('Brunello', 'Chianti')",
      );
      await vintage.fill("2016");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Done for 2 of 4 rows. Not done:").waitFor();
      await page.getByText("Brunello: This product was changed in the meantime").waitFor();
      const left = page.getByRole("dialog", { name: "Edit 2 products" });
      await left.getByText("Now: 2019.").waitFor();
      expect(await vintages()).toEqual({
        Amarone: 2016,
        Brunello: 2019,
        Chianti: 2019,
        Dolcetto: 2016,
      });
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("2 products were changed").waitFor();
      await form.waitFor({ state: "detached" });
    });
    expect(new Set(Object.values(await vintages()))).toEqual(new Set([2016]));
  });

  test("also all that match a query, by one request after a question", async () => {
    const { pool } = service.database;
    await pool.query(
      `insert into products (erp_product_number, name, country)
       select 'B' || n, 'Bulk ' || n, case n when 1 then 'Peru' end from generate_series(1, 150) as n`,
    );
    await journey(async ({ page, open, expectAccessible, expectProblem }) => {
      expectProblem("mutation UpdateMany");
      await open("/products?q=bulk");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await page.keyboard.press("ControlOrMeta+a");
      await page.getByText("150 rows selected").waitFor();
      await page.getByRole("button", { name: "Edit" }).waitFor();
      await page.keyboard.press("e");
      const form = page.getByRole("dialog", { name: "Edit 150 products" });
      // A wrong value is named at its field before anything is changed.
      await form.getByRole("checkbox", { name: "Vintage" }).check();
      await form.getByRole("textbox", { name: "Vintage" }).fill("12");
      await page.keyboard.press("ControlOrMeta+s");
      await form.locator("[data-field=vintage] .error").waitFor();
      await form.getByRole("checkbox", { name: "Vintage" }).uncheck();
      await form.getByRole("checkbox", { name: "Country" }).check();
      await form.getByRole("textbox", { name: "Country" }).fill("Peru");
      await page.keyboard.press("ControlOrMeta+s");
      const question = page.getByRole("alertdialog", { name: "Change 149 products?" });
      await question.getByText("One more has the values already.").waitFor();
      await expectAccessible();
      await question.getByRole("button", { name: "Change 149 products" }).click();
      await page.getByText("149 products were changed").waitFor();
      await form.waitFor({ state: "detached" });
    });
    const { rowCount } = await pool.query(
      "select from products where name like 'Bulk %' and country = 'Peru'",
    );
    expect(rowCount).toBe(150);
  });

  test("but at most a hundred of a list without a mutation of many rows", async () => {
    await service.database.pool.query(
      "insert into departments (name) select 'Cellar ' || n from generate_series(1, 101) as n",
    );
    await journey(async ({ page, open }) => {
      await open("/departments?q=cellar");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await page.keyboard.press("ControlOrMeta+a");
      await page.getByText("101 rows selected").waitFor();
      // Nothing is offered for all rows.
      await page.getByRole("button", { name: "Clear selection" }).waitFor();
      expect(await page.locator(".status").getByRole("button").allInnerTexts()).toEqual([
        "Clear selection",
      ]);
    });
  });
});

describe("the actions of the selected rows of a list", () => {
  const startAction = async (page: Page, name: RegExp) => {
    const button = page.locator(".status").getByRole("button", { name: "Actions" });
    await button.click();
    await page.getByRole("menuitem", { name }).click();
  };

  beforeAll(async () => {
    await service.database.pool.query(
      `with person as (
         insert into users (email, name, is_active)
         values ('ida@example.com', 'Ida', true), ('jon@example.com', 'Jon', true) returning id
       )
       insert into absences (user_id, type, starts_on, ends_on) select id, 'OTHER', '2031-05-05', '2031-05-09' from person`,
    );
    // Without one, nobody can be deactivated.
    await service.database.pool.query(
      `with u as (insert into users (email, name, is_active) values ('zoe@example.com', 'Zoe', true) returning id)
       insert into user_roles (user_id, role_id) select u.id, r.id from u, roles r where r.name = 'Superadmin'`,
    );
  });

  test("run on each of them, with the values of one form", async () => {
    await journey(async ({ page, open, expectAccessible }) => {
      await open("/absences?q=status%3AREQUESTED");
      await selectFirst(page, 2);
      await startAction(page, /^Decline absence/);
      const form = page.getByRole("dialog", { name: "Decline absence: 2 absences" });
      await form.getByRole("textbox", { name: "Note" }).fill("The tasting is that week");
      await expectAccessible();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("Decline absence: 2 absences, done").waitFor();
    });
    const { rows } = await service.database.pool.query(
      "select status, decision_note as note from absences",
    );
    const declined = { status: "DECLINED", note: "The tasting is that week" };
    expect(rows).toEqual([declined, declined]);
  });

  test("name the rows for which they fail", async () => {
    await journey(async ({ page, open, expectProblem }) => {
      expectProblem("mutation Act");
      await open("/users");
      await selectFirst(page, 3);
      await startAction(page, /^Deactivate user/);
      await page.getByText("Deactivate user: 3 users?").waitFor();
      await page.getByRole("button", { name: "Deactivate user" }).click();
      await page.getByText(/Deactivate user\. Done for 2 of 3 rows\. Not done:/).waitFor();
      await page.getByText(/: You cannot deactivate yourself/).waitFor();
      // What applies to some of the rows is not offered for all.
      const menu = page.getByRole("menu");
      await page.locator(".status").getByRole("button", { name: "Actions" }).click();
      await menu.waitFor();
      expect(await menu.innerText()).not.toMatch(/^(Activate|Deactivate)/m);
    });
    const { rows } = await service.database.pool.query<{ name: string }>(
      "select name from users where not is_active and name <> 'Other' order by name",
    );
    expect(rows.map(({ name }) => name)).toEqual(["Ida", "Jon"]);
  });
});
