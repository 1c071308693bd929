import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page, Request } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { type Journey, tabTo, takeFirstChoice, withJourney } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

let browser: Browser;
let service: Service;
/** Two buyers who can change products and cannot read the audit log. */
let anna: { token: string; userId: string; email: string };
let bo: { token: string; userId: string; email: string };

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  anna = await makeBuyer("Anna");
  bo = await makeBuyer("Bo");
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

const buyer = ["products.read", "products.create", "products.update"];

async function makeBuyer(name: string) {
  const email = `${randomUUID()}@example.com`;
  const login = await service.login(buyer, email);
  await service.database.pool.query("update users set name = $1 where id = $2", [
    name,
    login.userId,
  ]);
  return { ...login, email };
}

/** Creates a product as Anna; returns its id. */
async function makeProduct(name: string): Promise<string> {
  const made = await service.ask(
    `mutation ($input: CreateProductInput!) { createProduct(input: $input) { id } }`,
    {
      token: anna.token,
      variables: {
        input: { erpProductNumber: randomUUID(), name, region: "Piemonte", vintage: 2016 },
      },
    },
  );
  expect(made.errors).toBeUndefined();
  return made.data.createProduct.id as string;
}

/** All columns of a product except generated ones. */
async function columnsOf(id: string): Promise<Record<string, unknown>> {
  const { rows } = await service.database.pool.query<{ row: Record<string, unknown> }>(
    "select to_jsonb(p) - 'updated_at' - 'search_words' as row from products p where id = $1",
    [id],
  );
  expect(rows).toHaveLength(1);
  return rows[0]?.row ?? {};
}

const field = (page: Page, title: string) =>
  page.getByRole("textbox", { name: title, exact: true });
const saved = (page: Page) =>
  page
    .getByRole("status")
    .getByText(/^Saved/)
    .first();
const save = (page: Page) => page.keyboard.press("Control+s");

test("a user who may not read other users is the author of a new campaign", async () => {
  const { token, userId } = await service.login(["campaigns.read", "campaigns.create"]);
  await service.database.pool.query("update users set name = 'Cleo' where id = $1", [userId]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/campaigns/new");
    await page.locator("[data-field=authorUserId]").getByText("Cleo", { exact: true }).waitFor();
    await page
      .getByText("Another user cannot be chosen. That needs the permission users.read.")
      .waitFor();
    await page.getByLabel(/^Title/).fill("Harvest");
    await page.getByLabel(/^Price/).fill("DKK 89");
    await page.getByLabel(/^Medium/).selectOption("EMAIL");
    await page.getByLabel(/^Scheduled/).fill("2040-01-01T10:00");
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByRole("heading", { level: 1, name: "Harvest" }).waitFor();
  });
  const { rows } = await service.database.pool.query(
    "select title from campaigns where author_user_id = $1",
    [userId],
  );
  expect(rows).toEqual([{ title: "Harvest" }]);
});

test("a form offers only the rows that the tag @choices names, and keeps another one", async () => {
  const boss = await service.login(["campaigns.read", "campaigns.update", "users.read"]);
  const { userId: present } = await service.login([], "quirina-present@example.com");
  const { userId: former } = await service.login([], "quirina-former@example.com");
  const { pool } = service.database;
  await pool.query("update users set is_active = false where id = $1", [former]);
  const { rows } = await pool.query<{ id: string }>(
    `insert into campaigns (title, price, author_user_id, medium, scheduled_at)
     values ('Old harvest', 'DKK 89', $1, 'WEB', '2040-01-01 08:00Z') returning id`,
    [former],
  );
  const authorOf = async () =>
    (await pool.query("select author_user_id from campaigns where id = $1", [rows[0]?.id])).rows;
  await withJourney({ browser, service }, { token: boss.token }, async ({ page, open }) => {
    await open(`/campaigns/${rows[0]?.id}`);
    await page.getByLabel(/^Note/).fill("Kept.");
    await save(page);
    await saved(page).waitFor();
    expect(await authorOf()).toEqual([{ author_user_id: former }]);
    await page.locator("[data-field=authorUserId] input").fill("quirina");
    const choices = page.getByRole("option");
    await choices.getByText("quirina-present").first().waitFor();
    expect(await choices.filter({ hasText: "quirina" }).count()).toBe(1);
    await takeFirstChoice(page);
    await save(page);
    await waitFor("the new author", async () => (await authorOf())[0]?.author_user_id === present);
  });
});

describe("two windows on one product", () => {
  test("keep both edits of different fields", async () => {
    const id = await makeProduct("Barolo Bussia");
    const before = await columnsOf(id);
    await withJourney({ browser, service }, { token: anna.token }, async (first) => {
      await withJourney({ browser, service }, { token: bo.token }, async (second) => {
        await first.open(`/products/${id}`);
        await second.open(`/products/${id}`);
        await field(second.page, "Country").fill("Italy");
        await field(first.page, "Region").fill("Langhe");
        await save(first.page);
        await saved(first.page).waitFor();
        await save(second.page);
        await second.page.getByText("Anna had changed Region in the meantime").waitFor();
        expect(await field(second.page, "Region").inputValue()).toBe("Langhe");
        expect(await columnsOf(id)).toEqual({ ...before, region: "Langhe", country: "Italy" });
      });
    });
  });

  test("ask which edit of the same field to keep, with both values, author and time", async () => {
    const id = await makeProduct("Barolo");
    const before = await columnsOf(id);
    await withJourney({ browser, service }, { token: anna.token }, async (first) => {
      await withJourney({ browser, service }, { token: bo.token }, async (second) => {
        await first.open(`/products/${id}`);
        await second.open(`/products/${id}`);
        await field(second.page, "Name").fill("Barolo of Bo");
        await field(second.page, "Producer").fill("Conterno");
        await field(first.page, "Name").fill("Barolo of Anna");
        await save(first.page);
        await saved(first.page).waitFor();

        await save(second.page);
        const dialog = second.page.getByRole("alertdialog");
        await dialog.waitFor();
        const text = await dialog.innerText();
        expect(text).toMatch(/Anna saved this row .*(second|minute|now)/);
        for (const value of ["Barolo of Bo", "Barolo of Anna", "Before Barolo"])
          expect(text).toContain(value);
        await second.expectAccessible();

        // Closing the dialog keeps both edits. The dialog library takes the focus away for a moment and gives it back.
        await dialog.press("Escape");
        await dialog.waitFor({ state: "detached" });
        expect(await field(second.page, "Name").inputValue()).toBe("Barolo of Bo");
        expect(await field(second.page, "Producer").inputValue()).toBe("Conterno");
        expect(await columnsOf(id)).toEqual({ ...before, name: "Barolo of Anna" });

        await save(second.page);
        await dialog.getByRole("button", { name: "Save mine" }).click();
        await saved(second.page).waitFor();
        const mine = { ...before, name: "Barolo of Bo", producer: "Conterno" };
        expect(await columnsOf(id)).toEqual(mine);

        // The reverse case: Anna still has the page with her own version.
        await field(first.page, "Name").fill("Barolo again");
        await field(first.page, "Country").fill("Italy");
        await save(first.page);
        const hers = first.page.getByRole("alertdialog");
        await hers.waitFor();
        await tabTo(hers.getByRole("button", { name: "Take theirs" }));
        await first.page.keyboard.press("Enter");
        await hers.waitFor({ state: "detached" });
        await first.page
          .getByRole("button", { name: /^Save/ })
          .and(first.page.locator("[disabled], [aria-disabled=true]"))
          .waitFor();
        expect(await field(first.page, "Name").inputValue()).toBe("Barolo of Bo");
        expect(await columnsOf(id)).toEqual({ ...mine, country: "Italy" });
      });
    });
  });
});

describe("history of a product", () => {
  test("shows who changed what, also in the database, without permission to read the audit log", async () => {
    const id = await makeProduct("Gavi");
    await service.ask(
      `mutation ($id: ID!) { updateProduct(id: $id, input: { region: "Gavi di Gavi" }) { id } }`,
      { token: bo.token, variables: { id } },
    );
    await service.database.pool.query("update products set description = $1 where id = $2", [
      "A white wine of Piemonte",
      id,
    ]);
    await withJourney(
      { browser, service },
      { token: anna.token },
      async ({ page, open, expectAccessible }) => {
        await open(`/products/${id}`);
        await page.getByRole("tab", { name: "Fields" }).waitFor();
        await page.keyboard.press("h");
        await page.getByRole("tab", { name: "History", selected: true }).waitFor();
        const entries = page.getByRole("tabpanel").locator("ol > li");
        await entries.nth(2).waitFor();
        const [inDatabase, byBo, byAnna] = await entries.allInnerTexts();
        expect(inDatabase).toContain("in the database");
        expect(inDatabase).toContain("A white wine of Piemonte");
        expect(byBo).toContain("Bo changed");
        expect(byBo).toMatch(/Region\s+Piemonte\s+(→\s+)?Gavi di Gavi/);
        expect(byAnna).toContain("Anna created it");
        const text = await page.getByRole("tabpanel").innerText();
        expect(text).not.toContain("@example.com");
        expect(text).not.toContain("127.0.0.1");
        await expectAccessible();

        // The old value goes into the form and is not saved by itself.
        await page
          .getByRole("button", { name: "Copy the old value of Region into the form" })
          .click();
        await field(page, "Region").waitFor();
        expect(await field(page, "Region").inputValue()).toBe("Piemonte");
        expect(await columnsOf(id)).toMatchObject({ region: "Gavi di Gavi" });
        await save(page);
        await saved(page).waitFor();
        expect(await columnsOf(id)).toMatchObject({ region: "Piemonte" });
      },
    );
  });
});

describe("unsaved edits", () => {
  test("in a drawer are discarded by Escape, Back or a link only after a question", async () => {
    const id = await makeProduct("Soave");
    await withJourney({ browser, service }, { token: anna.token }, async ({ page, open, show }) => {
      await open(`/products?q=Soave&open=products/${id}`);
      const drawer = page.getByRole("dialog");
      const region = drawer.getByRole("textbox", { name: "Region", exact: true });
      await region.fill("Veneto");
      await page.keyboard.press("Escape");
      const question = page.getByRole("alertdialog");
      await question.waitFor();
      await show("drawer-unsaved");
      await question.getByRole("button", { name: "Stay" }).click();
      expect(await region.inputValue()).toBe("Veneto");

      // The focus returns to the drawer after the question has closed.
      await drawer.and(page.locator(":focus-within")).waitFor();
      await page.keyboard.press("Escape");
      await question.getByRole("button", { name: "Save" }).click();
      await drawer.waitFor({ state: "detached" });
      expect(await columnsOf(id)).toMatchObject({ region: "Veneto" });
    });
  });

  test("survive an outage, and a request whose response is lost runs once", async () => {
    await withJourney(
      { browser, service },
      { token: anna.token },
      async ({ page, context, open, show, expectProblem }) => {
        expectProblem("ERR_INTERNET_DISCONNECTED");
        expectProblem("ERR_FAILED");
        const name = `Arneis ${randomUUID()}`;
        const count = async () => {
          const { rows } = await service.database.pool.query(
            "select from products where name = $1",
            [name],
          );
          return rows.length;
        };
        const isUnread = (request: Request) => (request.postData() ?? "").includes("query Unread");
        const isCreate = (request: Request) =>
          (request.postData() ?? "").includes("mutation Create");
        const outage = Promise.withResolvers<undefined>();
        let isHeld = false;
        let losesResponse = false;
        await page.route("**/graphql", async (route) => {
          const request = route.request();
          if (isUnread(request) && !isHeld) {
            isHeld = true;
            const response = await route.fetch();
            await outage.promise;
            return route.fulfill({ response });
          }
          if (isCreate(request) && losesResponse) {
            losesResponse = false;
            await route.fetch();
            return route.abort("failed");
          }
          return route.continue();
        });
        await open("/products/new");
        await field(page, "Name").fill(name);
        await page.getByLabel(/^Number/).fill(randomUUID());

        await context.setOffline(true);
        await save(page);
        const warning = page.getByText("The server does not answer. What you typed is kept");
        await warning.waitFor();
        expect(await field(page, "Name").inputValue()).toBe(name);
        await show("away");
        // The response to an earlier request does not end the warning.
        const late = page.waitForResponse((response) => isUnread(response.request()));
        outage.resolve(undefined);
        await (await late).finished();
        await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))");
        expect(await warning.isVisible()).toBe(true);
        await context.setOffline(false);
        // The console notices by itself that the server is back.
        await page.locator(".bar").waitFor({ state: "detached" });

        // The server runs the mutation, but the response is lost.
        losesResponse = true;
        await save(page);
        await waitFor("the product", async () => (await count()) === 1);
        await page.getByRole("button", { name: /^Save/ }).and(page.locator(":enabled")).waitFor();
        await save(page);
        await page.getByRole("tab", { name: "Fields" }).waitFor();
        expect(await count()).toBe(1);
      },
    );
  });

  test("survive the end of the session, with a login above the page", async () => {
    const id = await makeProduct("Roero");
    await withJourney(
      { browser, service },
      { token: bo.token },
      async ({ page, open, show, expectProblem }) => {
        expectProblem("401 POST /graphql");
        await open(`/products/${id}`);
        await field(page, "Region").fill("Roero DOCG");
        await service.database.pool.query("delete from sessions where user_id = $1", [bo.userId]);
        await save(page);
        const dialog = page.getByRole("dialog", { name: "Your session has ended" });
        await dialog.waitFor();
        await show("session-ended");
        await dialog.getByLabel("E-mail").fill(bo.email);
        await page.keyboard.press("Enter");
        await dialog.waitFor({ state: "detached" });
        expect(await field(page, "Region").inputValue()).toBe("Roero DOCG");
        await save(page);
        await saved(page).waitFor();
        expect(await columnsOf(id)).toMatchObject({ region: "Roero DOCG" });
      },
    );
  });
});

describe("the actions of a row", () => {
  test("are offered where they apply, and a destructive one asks first", async () => {
    const clerk = await service.login(
      ["users.read", "users.update", ...buyer],
      "clerk@example.com",
    );
    const colleague = await makeBuyer("Carla");
    // A deactivation requires a remaining Superadmin.
    const admin = await service.login([], "superadmin@example.com");
    await service.database.pool.query(
      `insert into user_roles (user_id, role_id) select $1, id from roles where is_system and name = 'Superadmin'`,
      [admin.userId],
    );
    const isActive = async () => {
      const { rows } = await service.database.pool.query<{ is_active: boolean }>(
        "select is_active from users where id = $1",
        [colleague.userId],
      );
      return rows[0]?.is_active;
    };
    await withJourney(
      { browser, service },
      { token: clerk.token },
      async ({ page, open, show, expectAccessible }) => {
        await open(`/users/${colleague.userId}`);
        await page.getByRole("tab", { name: "Fields" }).waitFor();
        // By keyboard: the menu and its first action.
        await page.keyboard.press(".");
        await page.getByRole("menuitem", { name: "Deactivate user" }).waitFor();
        await page.getByRole("menuitem", { name: "Hand over" }).waitFor();
        await page.getByRole("menuitem", { name: "Unlink user logins" }).waitFor();
        expect(await page.getByRole("menuitem").count()).toBe(4);
        await show("record-actions");
        // Below "Create user API token".
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        const question = page.getByRole("alertdialog", { name: "Deactivate user: Carla?" });
        await question.waitFor();
        await expectAccessible("[role=alertdialog]");
        await page.keyboard.press("Escape");
        await question.waitFor({ state: "detached" });
        expect(await isActive()).toBe(true);
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name: "Deactivate user" }).click();
        await question.getByRole("button", { name: "Deactivate user" }).click();
        await page.getByText("Deactivate user: Carla, done").waitFor();
        expect(await isActive()).toBe(false);
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name: /^Activate user/ }).click();
        await page.getByText(/^Activate user: Carla, done/).waitFor();
        expect(await isActive()).toBe(true);
      },
    );
  });

  test("show why they failed", async () => {
    const clerk = await service.login(["users.read", "users.update"], "newcomer@example.com");
    await withJourney({ browser, service }, { token: clerk.token }, async ({ page, open }) => {
      // The clerk lacks the permissions of a buyer.
      await open(`/users/${bo.userId}`);
      // An address has one line, although it may be long.
      await page.locator("input[type=url]").and(page.getByLabel("Picture")).waitFor();
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Deactivate user" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Deactivate user" }).click();
      await page.getByText("Deactivate user: Bo, not done").waitFor();
    });
  });
});

test("a page of the handbook is shown for reading, and edited on request", async () => {
  const writer = await service.login(["documentation.update"]);
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into documentation_pages (slug, title, body) values ('corks', 'Corks', E'# Taint\\n\\nSmell *first*.') returning id",
  );
  await withJourney({ browser, service }, { token: writer.token }, async ({ page, open }) => {
    await open("/handbook/corks");
    await page.getByRole("heading", { name: "Taint" }).waitFor();
    const body = page.getByRole("textbox", { name: "Body" });
    expect(await body.count()).toBe(0);
    await tabTo(page.getByRole("button", { name: "Edit body" }));
    await page.keyboard.press("Enter");
    await body.and(page.locator(":focus")).waitFor();
    await body.fill("# Corks\n\nAll of them.");
    await save(page);
    await saved(page).waitFor();
    expect(await body.inputValue()).toBe("# Corks\n\nAll of them.");
    // An old value from the history opens the editor.
    await page.getByRole("tab", { name: "History" }).click();
    await page
      .getByRole("button", { name: "Copy the old value of Body into the form" })
      .first()
      .click();
    expect(await body.inputValue()).toContain("Taint");
    await page.getByRole("button", { name: "Discard" }).click();
  });
  await service.database.pool.query("delete from documentation_pages where id = $1", [rows[0]?.id]);
});

test("an earlier slug of a handbook page leads to the page", async () => {
  const { token } = await service.login([]);
  const { pool } = service.database;
  const { rows } = await pool.query<{ id: string }>(
    "insert into documentation_pages (slug, title, body, is_published) values ('screw-caps', 'Screw caps', 'They leak less.', true) returning id",
  );
  await pool.query("update documentation_pages set slug = 'closures' where id = $1", [rows[0]?.id]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    for (const slug of ["screw-caps", "closures"]) {
      await open(`/handbook/${slug}`);
      await page.waitForURL(`**/admin/documentationPages/${rows[0]?.id}`);
      await page.getByRole("heading", { name: "Screw caps", level: 1 }).waitFor();
      await page.getByText("They leak less.").waitFor();
    }
  });
  await pool.query("delete from documentation_pages where id = $1", [rows[0]?.id]);
});

test("an absence is requested without a permission, rejected at its field when it overlaps, and shown with its person", async () => {
  const { token } = await service.login([], "dora@example.com");
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    const request = async (from: string, until: string) => {
      await open("/absences/new");
      await page.getByRole("heading", { name: "New absence" }).waitFor();
      await page.getByLabel("Type").selectOption({ label: "Vacation" });
      await page.getByLabel("From *").fill(from);
      await page.getByLabel("Until *").fill(until);
      await save(page);
    };
    await request("2027-07-05", "2027-07-16");
    await page.getByRole("heading", { name: "dora", level: 1 }).waitFor();
    await page.getByText("5 Jul 2027").first().waitFor();
    await request("2027-07-16", "2027-07-20");
    await page.getByText("There is an absence from 2027-07-05 to 2027-07-16 already").waitFor();
  });
});

test("a new mapping rule queues the re-import of orders if its box is checked", async () => {
  const { token } = await service.login(["erpsync.read", "erpsync.run"]);
  const { pool } = service.database;
  const create = async ({ page, open }: Journey, key: string) => {
    await open("/erpMappingRules/new");
    await field(page, "Code").fill("payment_method.unmapped");
    await field(page, "Key").fill(key);
    await page.getByRole("checkbox", { name: "Ignored" }).check();
    const recheck = page.getByRole("checkbox", { name: "Recheck" });
    expect(await recheck.isChecked()).toBe(false);
    return recheck;
  };
  await withJourney({ browser, service }, { token }, async (journey) => {
    const { page, open, expectAccessible } = journey;
    await create(journey, "VOUCHER");
    await save(page);
    await page.getByRole("heading", { name: "VOUCHER", level: 1 }).waitFor();
    expect((await pool.query("select from erp_sync_runs")).rowCount).toBe(0);
    const recheck = await create(journey, "GIFT CARD");
    await recheck.check();
    await page.getByText("Whether to import all orders with a mapping issue again.").waitFor();
    await expectAccessible();
    await save(page);
    await page.getByRole("heading", { name: "GIFT CARD", level: 1 }).waitFor();
    await open("/erpSyncRuns");
    await page.getByText("1 row found").waitFor();
    await page.getByRole("rowheader", { name: "Recheck" }).waitFor();
  });
  await pool.query("delete from erp_mapping_rules where key in ('VOUCHER', 'GIFT CARD')");
});

test("related rows are narrowed by the default query of their list until it is unchecked", async () => {
  const { token, userId } = await service.login([]);
  const { rows } = await service.database.pool.query<{ id: string }>(
    `with room as (insert into resources (name, kind) values ('Cellar', 'ROOM') returning id),
     bookings as (
       insert into resource_bookings (resource_id, booked_by_user_id, booked_by_name, title, starts_at, ends_at)
       select r.id, $1, 'Anna', b.title, now() + b.days * interval '1 day', now() + b.days * interval '1 day' + interval '1 hour'
       from room r, (values ('Past tasting', -9), ('Coming tasting', 9)) as b(title, days)
     )
     select id from room`,
    [userId],
  );
  await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
    await open(`/resources/${rows[0]?.id}`);
    await page.getByRole("tab", { name: "Bookings" }).click();
    await page.getByRole("rowheader", { name: "Coming tasting" }).waitFor();
    expect(await page.getByRole("rowheader", { name: "Past tasting" }).count()).toBe(0);
    await expectAccessible();
    await page.getByRole("checkbox", { name: "Only endsAt:>=today" }).uncheck();
    await page.getByRole("rowheader", { name: "Past tasting" }).waitFor();
    await page.getByRole("rowheader", { name: "Coming tasting" }).waitFor();
  });
});

test("a rule about two fields names them by their titles", async () => {
  const { token } = await service.login([]);
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into resources (name, kind) values ('Cellar room', 'ROOM') returning id",
  );
  await withJourney({ browser, service }, { token }, async (journey) => {
    const { page, open, expectProblem } = journey;
    // A rejected row returns an error.
    expectProblem("createResourceBooking");
    await open(`/resourceBookings/new?resourceId=${rows[0]?.id}`);
    await field(page, "Title").fill("Tasting");
    const [from, until] = [page.getByLabel("From *"), page.getByLabel("Until *")];
    await from.fill("2027-07-05T12:00:00");
    await until.fill("2027-07-05T10:00:00");
    await save(page);
    await page.locator("[data-field=endsAt]").getByText("Until must be after From").waitFor();
    expect(await until.getAttribute("aria-invalid")).toBe("true");
    await until.fill("2027-07-05T13:00:00");
    await save(page);
    await page.getByRole("heading", { name: "Tasting", level: 1 }).waitFor();
  });
});

test("times are entered and shown in the time zone of the user", async () => {
  const { token, userId } = await service.login([]);
  const { pool } = service.database;
  const { rows } = await pool.query<{ id: string }>(
    "insert into resources (name, kind) values ('Press room', 'ROOM') returning id",
  );
  await pool.query("update users set time_zone = 'Asia/Kathmandu' where id = $1", [userId]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open(`/resourceBookings/new?resourceId=${rows[0]?.id}`);
    await field(page, "Title").fill("Call with the growers");
    await page.getByText("In the time zone Asia/Kathmandu.").first().waitFor();
    await page.getByLabel("From *").fill("2027-07-05T12:00");
    await page.getByLabel("Until *").fill("2027-07-05T13:00");
    await save(page);
    await page.getByRole("heading", { name: "Call with the growers", level: 1 }).waitFor();
    const { rows: booked } = await pool.query<{ starts_at: Date }>(
      "select starts_at from resource_bookings where title = 'Call with the growers'",
    );
    expect(booked.map((row) => row.starts_at.toISOString())).toEqual(["2027-07-05T06:15:00.000Z"]);
    await open("/resourceBookings");
    await page.getByRole("gridcell", { name: "5 Jul 2027, 12:00" }).waitFor();
  });
});

test("values beyond the bounds of their field are rejected before they are sent", async () => {
  const id = await makeProduct("Barbaresco");
  await withJourney({ browser, service }, { token: anna.token }, async ({ page, open }) => {
    await open(`/products/${id}`);
    await field(page, "Vintage").fill("3000000000");
    await save(page);
    await page
      .locator("[data-field=vintage]")
      .getByText("A whole number between -2,147,483,648 and 2,147,483,647")
      .waitFor();
    expect(await columnsOf(id)).toMatchObject({ vintage: 2016 });
  });
  const { token } = await service.login([]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/absences/new");
    await page.getByLabel("Type").selectOption({ label: "Vacation" });
    await page.getByLabel("From *").focus();
    // The browser has no value for this date.
    await page.keyboard.type("02312027");
    await save(page);
    await page.locator("[data-field=startsOn]").getByText("A date that exists").waitFor();
  });
});

test("a name for which no row was chosen is not sent, so that the reference is not lost", async () => {
  const id = await makeProduct("Carema");
  const before = await columnsOf(id);
  await withJourney({ browser, service }, { token: anna.token }, async ({ page, open }) => {
    await open(`/products/${id}`);
    const wineType = page.getByRole("combobox", { name: "Wine type" });
    await wineType.fill("");
    await wineType.fill("zz top");
    await page.keyboard.press("ControlOrMeta+s");
    await page
      .locator("[data-field=wineTypeId]")
      .getByText("No row has been chosen for this text")
      .waitFor();
    expect(await wineType.inputValue()).toBe("zz top");
    expect(await columnsOf(id)).toEqual(before);
    await wineType.fill("");
    await wineType.fill("Spark");
    await page.getByRole("option", { name: /Sparkling/ }).click();
    await save(page);
    await saved(page).waitFor();
    expect((await columnsOf(id))?.wine_type_id).not.toBe(before?.wine_type_id);
  });
});

describe("a row that is deleted while it is edited", () => {
  const restorable = [...buyer, "audit.read"];

  test("is restored, and the edits are saved in it", async () => {
    const id = await makeProduct("Ghemme");
    const { token } = await service.login(restorable);
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectProblem, expectAccessible } = journey;
      expectProblem("mutation Update");
      await open(`/products/${id}`);
      await field(page, "Region").fill("Ghemme DOCG");
      await service.database.pool.query("delete from products where id = $1", [id]);
      await save(page);
      await page.getByText(/Somebody deleted Ghemme .* What you typed is kept/).waitFor();
      expect(await field(page, "Region").inputValue()).toBe("Ghemme DOCG");
      await expectAccessible();
      await page.getByRole("button", { name: "Restore and save" }).click();
      await saved(page).waitFor();
      expect(await columnsOf(id)).toMatchObject({ name: "Ghemme", region: "Ghemme DOCG" });
      await page.getByRole("tab", { name: "History" }).click();
      await page.getByText("restored it").waitFor();
      expect(await page.getByText("created it").count()).toBe(1);
    });
  });

  test("asks about fields that a colleague changed before the deletion", async () => {
    const id = await makeProduct("Boca");
    const { token } = await service.login(restorable);
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("mutation Update");
      await open(`/products/${id}`);
      await field(page, "Region").fill("Mine");
      await service.database.pool.query("update products set region = 'Theirs' where id = $1", [
        id,
      ]);
      await service.database.pool.query("delete from products where id = $1", [id]);
      await save(page);
      await page.getByRole("button", { name: "Restore and save" }).click();
      const dialog = page.getByRole("alertdialog");
      await dialog.getByText("Somebody saved this row. Choose").waitFor();
      expect(await columnsOf(id)).toMatchObject({ region: "Theirs" });
      await dialog.getByRole("button", { name: "Save mine" }).click();
      await saved(page).waitFor();
      expect(await columnsOf(id)).toMatchObject({ name: "Boca", region: "Mine" });
    });
  });

  test("keeps the edits of a caller who cannot restore it", async () => {
    const id = await makeProduct("Lessona");
    const { token } = await service.login(["products.read", "products.update"]);
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectProblem } = journey;
      expectProblem("mutation Update");
      await open(`/products/${id}`);
      await field(page, "Region").fill("Lessona DOC");
      await service.database.pool.query("delete from products where id = $1", [id]);
      await save(page);
      await page.getByText("or your permissions no longer show it").waitFor();
      expect(await field(page, "Region").inputValue()).toBe("Lessona DOC");
      expect(await page.getByRole("button", { name: /Restore/ }).count()).toBe(0);
      // Without edits, the page says that the row does not exist.
      await page.getByRole("button", { name: "Discard" }).click();
      await page.getByText("Row not found").waitFor();
    });
  });
});

test("a notification links to its row and counts as unread until it is read", async () => {
  const email = `${randomUUID()}@example.com`;
  const { token, userId } = await service.login(buyer, email);
  const id = await makeProduct("Barolo Cannubi");
  await service.database.pool.query(
    "select notify_users(array[$1::uuid], 'JOB_FAILED', 'Cannubi could not be sent', 'No answer', 'Product', $2)",
    [userId, id],
  );
  await withJourney({ browser, service }, { token }, async ({ page, open, show }) => {
    await open();
    await page.getByRole("link", { name: "Notifications 1 unread" }).waitFor();
    await page.getByRole("link", { name: "Cannubi could not be sent" }).click();
    await page.getByRole("heading", { name: "Cannubi could not be sent" }).waitFor();
    await show("notification");
    await page.getByRole("button", { name: `Open ${id}` }).click();
    await page.getByRole("heading", { name: "Barolo Cannubi" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Mark notification read" }).click();
    await page.getByRole("link", { name: "Notifications", exact: true }).first().waitFor();
    await page.getByRole("button", { name: "Actions" }).waitFor({ state: "detached" });
  });
});

test("the address of a new calendar feed is shown once", async () => {
  await withJourney({ browser, service }, { token: anna.token }, async (journey) => {
    const { page, open, show } = journey;
    await open("/calendarFeeds/new");
    await field(page, "Name").fill("Phone");
    await save(page);
    const dialog = page.getByRole("dialog", { name: "Calendar feed" });
    const address = await dialog.getByRole("textbox").inputValue();
    expect((await fetch(address)).status).toBe(200);
    await show("secret");
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "Phone" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "Phone" }).waitFor();
    expect(await page.content()).not.toContain("/calendar/");
  });
});

test("an API token is made with chosen permissions, and revoked", async () => {
  const { token, userId } = await service.login(["campaigns.read", "permissions.read"]);
  await withJourney({ browser, service }, { token }, async (journey) => {
    const { page, open, expectAccessible } = journey;
    await open("/apiTokens/new");
    await field(page, "Name").fill("Nightly export");
    // A token without limits is not made by an empty field.
    await save(page);
    await page.getByText(/^Scopes must name at least one permission/).waitFor();
    await page.getByRole("combobox", { name: "Scopes" }).fill("campaigns.re");
    await page.getByRole("option", { name: "campaigns.read" }).click();
    await save(page);
    const dialog = page.getByRole("dialog", { name: "API token" });
    const secret = await dialog.getByRole("textbox").inputValue();
    const asked = await service.ask("{ me { id } campaigns { id } }", { token: secret });
    expect(asked.data.me.id).toBe(userId);
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "Nightly export" }).waitFor();
    await page.getByText("campaigns.read").waitFor();
    await expectAccessible();
    await page.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Revoke API token" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Revoke API token" }).click();
    await page.getByRole("button", { name: "Actions" }).waitFor({ state: "detached" });
    const refused = await service.ask("{ me { id } }", { token: secret });
    expect(refused.errors?.[0]?.extensions.code).toBe("UNAUTHENTICATED");
  });
});

test("the permissions of an API token are typed by users who may not list them", async () => {
  const { token } = await service.login(["campaigns.read"]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/apiTokens/new");
    await field(page, "Name").fill("Nightly export");
    await field(page, "Scopes").fill("campaigns.read\ncampaigns.reed");
    await save(page);
    await page.getByText("Scopes: there are no permissions campaigns.reed").waitFor();
    await field(page, "Scopes").fill("campaigns.read");
    await save(page);
    await page.getByRole("dialog", { name: "API token" }).waitFor();
  });
});

test("an API token for another user is shown once to who makes it", async () => {
  const { token } = await service.login(["users.read", "users.update"]);
  const { userId } = await service.login([]);
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open(`/users/${userId}`);
    await page.getByRole("button", { name: "Actions" }).click();
    await page.getByRole("menuitem", { name: "Create user API token" }).click();
    const drawer = page.getByRole("dialog", { name: /^Create user API token/ });
    await drawer.getByLabel("Name").fill("Import");
    await drawer.getByRole("button", { name: "Create user API token" }).click();
    await drawer.getByText(/^Scopes must name at least one permission/).waitFor();
    await drawer.getByLabel("Limited").selectOption("No");
    await drawer.getByRole("button", { name: "Create user API token" }).click();
    const secret = page
      .getByRole("dialog")
      .getByRole("textbox", { name: /^Create user API token/ });
    const asked = await service.ask("{ me { id } }", { token: await secret.inputValue() });
    expect(asked.data.me.id).toBe(userId);
  });
});

test("a deleted row shows its history to holders of audit.read, and holders of the create permission restore it", async () => {
  const reader = await service.login(["products.read"]);
  const auditor = await service.login([...buyer, "audit.read"]);
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into products (erp_product_number, name) values ($1, 'Barbera') returning id",
    [randomUUID()],
  );
  const id = rows[0]?.id ?? "";
  const before = await columnsOf(id);
  await service.database.pool.query("delete from products where id = $1", [id]);
  await withJourney({ browser, service }, { token: reader.token }, async ({ page, open }) => {
    await open(`/products/${id}`);
    await page.getByText("Row not found").waitFor();
    expect(await page.getByRole("button", { name: "Restore" }).count()).toBe(0);
  });
  await withJourney(
    { browser, service },
    { token: auditor.token },
    async ({ page, open, show }) => {
      await open(`/products/${id}`);
      await page.getByText("deleted it").waitFor();
      await show("deleted");
    },
  );
  await withJourney(
    { browser, service },
    { token: anna.token },
    async ({ page, open, expectAccessible }) => {
      await open(`/products/${id}`);
      await page.getByText("Somebody deleted Barbera").waitFor();
      expect(await page.getByText("deleted it").count()).toBe(0);
      await expectAccessible();
      await page.getByRole("button", { name: "Restore" }).click();
      await page.getByText("The row was restored").waitFor();
      await field(page, "Name").waitFor();
      expect(await field(page, "Name").inputValue()).toBe("Barbera");
    },
  );
  expect(await columnsOf(id)).toEqual(before);
});
