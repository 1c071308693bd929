import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney } from "../helpers/console/journey.ts";
import { type TestDatabase, createDatabase } from "../helpers/database.ts";
import { type Service, loginWith, startService } from "../helpers/service.ts";

let browser: Browser;
let database: TestDatabase;
let service: Service;

beforeAll(async () => {
  [browser, database] = await Promise.all([launchBrowser(), createDatabase()]);
  service = await startService({ database });
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await database.drop();
});

/** A user with a department and these permissions. */
async function makeMember(permissions: readonly string[]) {
  const member = await loginWith(database, permissions);
  await database.pool.query(
    `with d as (insert into departments (name) values ($2) returning id)
     update users set department_id = d.id, name = 'Lise Holm' from d where users.id = $1`,
    [member.userId, `Office ${member.userId}`],
  );
  return member;
}

describe("my profile", () => {
  test("changes name, time zone and locale of a user without permissions", async () => {
    const { token, userId } = await makeMember([]);
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page, open, expectAccessibleInBothThemes } = journey;
      await open();
      await page.getByRole("button", { name: "Account: Lise Holm" }).click();
      await page.getByRole("menuitem", { name: "My profile" }).click();
      await page.getByRole("heading", { level: 1, name: "Lise Holm" }).waitFor();
      expect(new URL(page.url()).pathname).toBe(`/admin/users/${userId}`);
      await expectAccessibleInBothThemes();
      await page.getByLabel("Name", { exact: true }).fill("Lise Holm-Bech");
      await page.getByLabel("Time zone", { exact: true }).fill("Europe/Lisbon");
      await page.getByLabel("Locale", { exact: true }).fill("da-DK");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("heading", { level: 1, name: "Lise Holm-Bech" }).waitFor();
      // Also in the navigation.
      await page.getByRole("button", { name: "Account: Lise Holm-Bech" }).waitFor();
    });
    const { rows } = await database.pool.query(
      "select name, time_zone, locale from users where id = $1",
      [userId],
    );
    expect(rows).toEqual([{ name: "Lise Holm-Bech", time_zone: "Europe/Lisbon", locale: "da-DK" }]);
  });

  test("shows the department without a field to change it", async () => {
    const { token, userId } = await makeMember([]);
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open(`/users/${userId}`);
      await page.getByText(`Office ${userId}`).waitFor();
      expect(await page.getByRole("combobox", { name: "Department" }).count()).toBe(0);
      expect(await page.getByText("Roles").count()).toBe(0);
    });
  });

  test("leaves the rows of other users closed", async () => {
    const { token } = await makeMember([]);
    const other = await makeMember([]);
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open(`/users/${other.userId}`);
      await page.getByRole("heading", { name: "You may not see Users" }).waitFor();
    });
  });

  test("is the page of the user for callers who may read users", async () => {
    const { token } = await makeMember(["users.read"]);
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open();
      await page.getByRole("button", { name: "Account: Lise Holm" }).click();
      await page.getByRole("menuitem", { name: "My profile" }).click();
      await page.getByRole("tab", { name: "History" }).waitFor();
    });
  });
});
