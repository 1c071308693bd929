import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { takeFirstChoice, withJourney } from "../helpers/console/journey.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type Service, startService } from "../helpers/service.ts";

/** A report that a migration could add; no TypeScript refers to it. */
const resourceUse = `
  set role office_owner;
  create type resource_use as (resource_id uuid, bookings integer);
  comment on type resource_use is 'How much a resource is used.';
  comment on column resource_use.resource_id is E'@notNull\\nThe id of the resource.';
  comment on column resource_use.bookings is E'@notNull\\nThe number of bookings.';
  create function resource_uses() returns setof resource_use as $$
    select r.id, (select count(*)::integer from resource_bookings b where b.resource_id = r.id) from resources r order by r.name
  $$ language sql stable;
  comment on function resource_uses is E'@guard login\\n@report Office\\n@title Use of resources\\nHow much each resource is used.';
  grant execute on function resource_uses to office_api;
  reset role;`;

let browser: Browser;
let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  [browser, database] = await Promise.all([launchBrowser(), createDatabase()]);
  await database.pool.query(resourceUse);
  await database.pool.query(
    `insert into resources (name, kind, capacity, location)
     values ('Barrique', 'ROOM', 12, 'First floor'), ('Magnum', 'ROOM', 4, 'Second floor'), ('Van', 'VEHICLE', 3, 'Yard')`,
  );
  service = await startService({ database });
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await database.drop();
});

async function addSession(userId: string, address: string): Promise<void> {
  await database.pool.query(
    `insert into sessions (user_id, token_hash, idle_expires_at, expires_at, ip_address, user_agent)
     values ($1, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), now() + interval '1 hour',
       now() + interval '1 hour', $2, 'Firefox on Linux')`,
    [userId, address],
  );
}

async function liveSessions(userId: string): Promise<number> {
  const { rowCount } = await database.pool.query(
    "select from sessions where user_id = $1 and ended_at is null",
    [userId],
  );
  return rowCount ?? 0;
}

describe("reports", () => {
  test("show the rows of a query for the arguments in their form, which the address keeps", async () => {
    const office = await service.login([]);
    await withJourney(
      { browser, service },
      { token: office.token },
      async ({ page, open, expectAccessible }) => {
        await open();
        await page.getByRole("heading", { level: 1 }).waitFor();
        await page.keyboard.press("ControlOrMeta+k");
        await page.getByRole("dialog").waitFor();
        await page.keyboard.type("free res");
        await page.getByRole("option", { name: /Free resources/ }).click();
        await page.getByRole("heading", { name: "Free resources" }).waitFor();
        await page.getByText("Fill in what is needed").waitFor();
        await page.getByRole("button", { name: "Show" }).click();
        await page.getByText("From is needed").waitFor();
        // The browser has no value for an incomplete time.
        await page.locator("[data-field=from] input").focus();
        await page.keyboard.type("03");
        await page.keyboard.press("Enter");
        await page.locator("[data-field=from]").getByText("A date and a time that exist").waitFor();
        await page.locator("[data-field=from] input").fill("2027-03-15T10:00");
        await page.locator("[data-field=to] input").fill("2027-03-15T09:00");
        await page.locator("[data-field=kind] select").selectOption("Room");
        await page.keyboard.press("Enter");
        // The refusal of the service stands at the field that it names.
        await page.locator("[data-field=to]").getByText("must be after").waitFor();
        await page.locator("[data-field=to] input").fill("2027-03-15T11:00");
        await page.locator("[data-field=capacity] input").fill("2");
        await page.keyboard.press("Enter");
        const rows = page.getByRole("grid", { name: "Free resources" }).getByRole("row");
        await rows.filter({ hasText: "Barrique" }).waitFor();
        await expect(rows.filter({ hasText: "Magnum" }).count()).resolves.toBe(1);
        await expect(rows.filter({ hasText: "Van" }).count()).resolves.toBe(0);
        await page.getByRole("status").getByText("2").waitFor();
        await expectAccessible();
        const address = new URL(page.url());
        expect(address.searchParams.get("from")).toMatch(/^2027-03-15T\d\d:00:00\.000Z$/);
        await page.locator("[data-field=capacity] input").fill("6");
        await page.keyboard.press("Enter");
        await rows.filter({ hasText: "Magnum" }).waitFor({ state: "detached" });
        await page.goBack();
        await rows.filter({ hasText: "Magnum" }).waitFor();
        await expect(page.locator("[data-field=capacity] input").inputValue()).resolves.toBe("2");
        // The address alone brings back the form and the rows.
        await page.goto(address.href);
        await rows.filter({ hasText: "Magnum" }).waitFor();
        await expect(page.locator("[data-field=from] input").inputValue()).resolves.toMatch(
          /^2027-03-15T10:00/,
        );
        address.searchParams.set("capacity", "few");
        await page.goto(address.href);
        await page.locator("[data-field=capacity]").getByText("A whole number").waitFor();
        await page.locator("[data-field=capacity] input").fill("2");
        await page.keyboard.press("Enter");
        await rows.getByText("Barrique").click();
        await page.getByRole("heading", { name: "Barrique" }).waitFor();
      },
    );
  });

  test("show at each field of the address what would be right", async () => {
    const anna = await service.login(["absences.read", "users.read"], "clara@example.com");
    await withJourney({ browser, service }, { token: anna.token }, async ({ page, open }) => {
      const field = (name: string) => page.locator(`[data-field=${name}]`);
      await open("/report/absenceBalances?userId=nonsense&year=few");
      await field("userId").getByText("“nonsense” is not the id of a row").waitFor();
      await field("year").getByText("A whole number").waitFor();
      expect(await field("userId").locator("input").getAttribute("aria-invalid")).toBe("true");
      await field("year").locator("input").fill("2041");
      await field("userId").locator("input").fill("clara");
      await takeFirstChoice(page);
      await page.getByRole("button", { name: "Show" }).click();
      await page.getByRole("grid", { name: "Absence balances" }).waitFor();
      await open("/report/freeResources?from=soon&to=2027-03-15T11:00:00.000Z&kind=ROOMS");
      await field("from").getByText("A date and a time that exist").waitFor();
      await field("kind").getByText("One of Room, Vehicle, Equipment, Tasting set").waitFor();
    });
  });

  test("of rows that belong to no list open the row of their first reference", async () => {
    const office = await service.login([]);
    await withJourney({ browser, service }, { token: office.token }, async ({ page, open }) => {
      await open("/report/resourceUses");
      const grid = page.getByRole("grid", { name: "Use of resources" });
      await grid.getByText("Barrique").waitFor();
      await grid.focus();
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Magnum" }).waitFor();
    });
  });

  test("end a single session of the user", async () => {
    const { token, userId } = await service.login([]);
    await addSession(userId, "203.0.113.7");
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectAccessibleInBothThemes } = journey;
      await open("/report/mySessions");
      const row = page.getByRole("row").filter({ hasText: "203.0.113.7" });
      await row.locator(".row-link").click();
      const drawer = page.getByRole("dialog", { name: "203.0.113.7" });
      await drawer.getByText("Firefox on Linux").waitFor();
      await expectAccessibleInBothThemes("[role=dialog]");
      await drawer.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Revoke session" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Revoke session" }).click();
      await page.getByText("Revoke session: 203.0.113.7, done").waitFor();
      await row.waitFor({ state: "detached" });
      await drawer.waitFor({ state: "detached" });
      expect(await liveSessions(userId)).toBe(1);
    });
  });

  test("end all sessions of the user", async () => {
    const { token, userId } = await service.login([]);
    await addSession(userId, "203.0.113.8");
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      // The session of the page ends as well.
      expectProblem("401 POST /graphql");
      await open("/report/mySessions");
      await page.getByRole("row").filter({ hasText: "203.0.113.8" }).waitFor();
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Logout everywhere" }).click();
      await page
        .getByRole("alertdialog")
        .getByRole("button", { name: "Logout everywhere" })
        .click();
      await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
      expect(await liveSessions(userId)).toBe(0);
    });
  });

  test("are reached from the notification of a row that they show", async () => {
    const { token, userId } = await service.login([]);
    for (const address of ["203.0.113.9", "198.51.100.4"]) await addSession(userId, address);
    const { rows } = await database.pool.query<{ id: string }>(
      "select id from notifications where user_id = $1",
      [userId],
    );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open(`/notifications/${rows[0]?.id}`);
      await page.getByRole("link", { name: "Open My sessions" }).click();
      await page.getByRole("row").filter({ hasText: "198.51.100.4" }).waitFor();
    });
  });

  test("compare two versions of a handbook page", async () => {
    const writer = await service.login(["documentation.update"]);
    await service.database.pool.query(
      `with made as (
         insert into documentation_pages (title, body, is_published) values ('Cork taint', E'Smell first.\nThen pour.', true) returning id
       )
       insert into documentation_versions (page_id, number, title, body)
       select id, 2, 'Cork taint', E'Smell first.\nThen taste.' from made`,
    );
    await withJourney({ browser, service }, { token: writer.token }, async ({ page, open }) => {
      await open("/report/documentationDifferences");
      await page.locator("[data-field=documentationPageId] input").fill("cork taint");
      await takeFirstChoice(page);
      await page.locator("[data-field=fromVersion] input").fill("1");
      await page.getByRole("button", { name: "Show" }).click();
      const rows = page
        .getByRole("grid", { name: "Differences of handbook versions" })
        .getByRole("row");
      await rows.filter({ hasText: /Removed.*2.*Then pour\./ }).waitFor();
      await rows.filter({ hasText: /Added.*2.*Then taste\./ }).waitFor();
      await expect(rows.filter({ hasText: "Smell first." }).count()).resolves.toBe(0);
    });
  });

  test("find handbook pages by inflected words, and open them", async () => {
    const { token } = await service.login([]);
    await service.database.pool.query(
      "insert into documentation_pages (title, body, is_published) values ('Smagning', 'En aften med rødvin.', true)",
    );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/report/searchDocumentation");
      await page.locator("[data-field=text] input").fill("rødvinen");
      await page.getByRole("button", { name: "Show" }).click();
      const found = page.getByRole("grid", { name: "Search the handbook" });
      await found.getByText("rødvin").first().waitFor();
      await found.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Smagning", level: 1 }).waitFor();
    });
  });

  test("of deleted rows open their pages, where they are restored", async () => {
    const buyer = await service.login(["products.read", "products.create"]);
    const deleter = await service.login(["campaigns.delete", "campaigns.read"]);
    const { pool } = service.database;
    await pool.query(
      "insert into campaigns (title, price, author_user_id, medium, scheduled_at) values ('Harvest', 'DKK 89', $1, 'WEB', now())",
      [deleter.userId],
    );
    const answer = await service.ask("mutation { deleteAllCampaigns }", { token: deleter.token });
    expect(answer.errors).toBeUndefined();
    const author = await service.login(["campaigns.read", "campaigns.create", "products.read"]);
    await withJourney({ browser, service }, { token: author.token }, async ({ page, open }) => {
      await open("/report/deletions");
      const grid = page.getByRole("grid", { name: "Deleted rows" });
      await grid.getByText("Harvest").waitFor();
      await grid.focus();
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Restore" }).click();
      await page.getByRole("heading", { name: "Harvest", level: 1 }).waitFor();
    });
    // Nobody sees what they may not restore.
    await withJourney({ browser, service }, { token: buyer.token }, async ({ page, open }) => {
      await open("/report/deletions");
      await page.getByRole("heading", { name: "Nothing was found" }).waitFor();
    });
  });

  test("without required arguments open with rows", async () => {
    const anna = await service.login(["absences.read", "users.read"], "anna@example.com");
    await service.database.pool.query(
      `insert into absences (user_id, type, starts_on, ends_on, status)
       values ($1, 'TRAINING', '2041-02-04', '2041-02-05', 'APPROVED')`,
      [anna.userId],
    );
    await withJourney({ browser, service }, { token: anna.token }, async ({ page, open }) => {
      await open("/report/absenceBalances");
      const rows = page.getByRole("grid", { name: "Absence balances" }).getByRole("row");
      await rows.filter({ hasText: "Training" }).waitFor();
      await page.locator("[data-field=year] input").fill("2041");
      await page.locator("[data-field=userId] input").fill("anna");
      await takeFirstChoice(page);
      await page.getByRole("button", { name: "Show" }).click();
      await rows.filter({ hasText: /Training.*2/ }).waitFor();
      await page.getByRole("navigation").getByRole("link", { name: "Who is away" }).first().click();
      await page.getByText("Nothing was found").waitFor();
      await page.getByRole("navigation").getByRole("link", { name: "My sessions" }).first().click();
      await page.getByRole("grid", { name: "My sessions" }).getByText("Yes").waitFor();
      await page.goto(`${new URL(page.url()).origin}/admin/report/unknown`);
      await page.getByText("There is no report “unknown”").waitFor();
    });
  });
});
