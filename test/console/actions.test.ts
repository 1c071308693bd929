import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { takeFirstChoice, withJourney } from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";

let browser: Browser;
let service: Service;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

async function absences(userId: string): Promise<unknown[]> {
  const { rows } = await service.database.pool.query(
    `select type::text, starts_on::text, ends_on::text, status::text, decision_note from absences
     where user_id = $1 order by starts_on`,
    [userId],
  );
  return rows;
}

async function requestVacation(userId: string, from: string, to: string): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(
    `insert into absences (user_id, type, starts_on, ends_on)
     values ($1, 'VACATION', $2, $3) returning id`,
    [userId, from, to],
  );
  return rows[0]?.id ?? "";
}

describe("actions with arguments", () => {
  test("above a list ask for what they need, and name what is missing at its field", async () => {
    const office = await service.login(["absences.read", "absences.update", "users.read"]);
    const carla = await service.login([], "carla@example.com");
    await withJourney(
      { browser, service },
      { token: office.token },
      async ({ page, open, show, expectAccessible }) => {
        await open("/absences");
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name: "Enter absence" }).click();
        const form = page.getByRole("dialog", { name: "Enter absence" });
        // The first field has the focus, once the form has been loaded.
        await form.locator("[data-field=userId] input:focus").waitFor();
        await page.keyboard.type("carla");
        await takeFirstChoice(page);
        await form.getByRole("button", { name: "Enter absence" }).click();
        await form.getByText("From is needed").waitFor();
        await form.locator("[data-field=type] select").selectOption("Sick");
        await form.locator("[data-field=startsOn] input").fill("2027-03-03");
        await form.locator("[data-field=endsOn] input").fill("2027-03-01");
        await page.keyboard.press("ControlOrMeta+s");
        // The refusal of the service stands at the field that it names.
        await form.getByText(/Until must not be before From/).waitFor();
        await show("action-form");
        await expectAccessible("[role=dialog]");
        // Closing asks before what was filled in is lost.
        await form.getByRole("button", { name: "Close" }).click();
        const question = page.getByRole("alertdialog", { name: /without running it/ });
        await show("action-form-close");
        await question.getByRole("button", { name: "Stay" }).click();
        await question.waitFor({ state: "detached" });
        await form.locator("[data-field=endsOn] input").fill("2027-03-05");
        await page.keyboard.press("Enter");
        await page.getByText("Enter absence, done").waitFor({ timeout: 20_000 });
        await form.waitFor({ state: "detached" });
        expect(await absences(carla.userId)).toEqual([
          {
            type: "SICK",
            starts_on: "2027-03-03",
            ends_on: "2027-03-05",
            status: "APPROVED",
            decision_note: null,
          },
        ]);
      },
    );
  });

  test("of a row take optional arguments, such as the note of a decision", async () => {
    const office = await service.login(["absences.read", "absences.update"]);
    const dora = await service.login([], "dora@example.com");
    const id = await requestVacation(dora.userId, "2027-04-05", "2027-04-06");
    await withJourney({ browser, service }, { token: office.token }, async ({ page, open }) => {
      await open(`/absences/${id}`);
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Decline absence" }).click();
      const form = page.getByRole("dialog", { name: /^Decline absence/ });
      await form.getByLabel("Note").fill("The fair is that week.");
      await form.getByRole("button", { name: "Decline absence" }).click();
      await page.getByText(/^Decline absence: .*, done/).waitFor();
      expect(await absences(dora.userId)).toMatchObject([
        { status: "DECLINED", decision_note: "The fair is that week." },
      ]);
    });
  });

  test("of a row are not run on one that changed since the page showed it", async () => {
    const office = await service.login(["absences.read", "absences.update"]);
    const elsa = await service.login([], "elsa@example.com");
    const id = await requestVacation(elsa.userId, "2027-05-03", "2027-05-04");
    await withJourney(
      { browser, service },
      { token: office.token },
      async ({ page, open, expectAccessible }) => {
        await open(`/absences/${id}`);
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name: "Approve absence" }).click();
        const form = page.getByRole("dialog", { name: /^Approve absence/ });
        const run = form.getByRole("button", { name: "Approve absence" });
        await run.waitFor();
        const longer = `mutation ($id: ID!) { updateAbsence(id: $id, input: { endsOn: "2027-05-28" }) { id } }`;
        const variables = { id };
        expect(
          (await service.ask(longer, { token: elsa.token, variables })).errors,
        ).toBeUndefined();
        await run.click();
        await form
          .getByText(
            "This absence was changed in the meantime. Close this form to see the row as it is now.",
          )
          .waitFor();
        await expectAccessible("[role=dialog]");
        expect(await absences(elsa.userId)).toMatchObject([{ status: "REQUESTED" }]);
        // The page behind the form shows the change; the same button approves what it shows.
        await page
          .locator("[data-field=endsOn] input")
          .and(page.locator("[value='2027-05-28']"))
          .waitFor();
        await run.click();
        await page.getByText(/^Approve absence: .*, done/).waitFor();
        expect(await absences(elsa.userId)).toMatchObject([
          { status: "APPROVED", ends_on: "2027-05-28" },
        ]);
      },
    );
  });

  test("of a list run without a form, and say how many rows they changed", async () => {
    const office = await service.login([
      "campaigns.read",
      "campaigns.delete",
      "erpsync.read",
      "erpsync.run",
    ]);
    await service.database.pool.query(
      `insert into notifications (user_id, kind, title, subject_key)
       select $1, 'JOB_FAILED', format('Job %s failed', n), n from generate_series(1, 3) as n`,
      [office.userId],
    );
    await withJourney({ browser, service }, { token: office.token }, async ({ page, open }) => {
      const act = async (list: string, title: string) => {
        await open(`/${list}`);
        await page.getByRole("button", { name: "Actions" }).click();
        await page.getByRole("menuitem", { name: title }).click();
      };
      await act("notifications", "Mark notifications read");
      await page.getByText("Mark notifications read, done: 3").waitFor();
      await act("campaigns", "Delete all campaigns");
      await page
        .getByRole("alertdialog")
        .getByRole("button", { name: "Delete all campaigns" })
        .click();
      await page.getByText("Delete all campaigns, done: 0").waitFor();
      await act("erpSyncRuns", "Import ERP orders");
      await page.getByText("Import ERP orders, done. Waiting already: No").waitFor();
      // The import waits, because no worker runs here.
      await page.getByRole("grid").getByText("Import").first().click();
      // The list has a button of this name, too.
      await page.getByRole("tab", { name: "Fields" }).waitFor();
      await page.getByRole("button", { name: "Actions" }).click();
      await page.getByRole("menuitem", { name: "Cancel ERP sync run" }).click();
      await page
        .getByRole("alertdialog")
        .getByRole("button", { name: "Cancel ERP sync run" })
        .click();
      await page.getByText(/^Cancel ERP sync run: .*, done$/).waitFor();
      await page.getByText("Cancelled").first().waitFor();
      await page.getByRole("button", { name: "Actions" }).waitFor({ state: "detached" });
    });
  });
});
