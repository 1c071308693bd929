import { once } from "node:events";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Locator } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { takeFirstChoice, withJourney, cells } from "../helpers/console/journey.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { startOwnSqlService } from "../helpers/migration/ownSqlService.ts";
import { type Service, loginWith } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

// Tables with a column of each kind; their migration declares no relations and few console tags.
const ownSql = join(import.meta.dirname, "../fixtures/migration/tastings");

let browser: Browser;
let database: TestDatabase;
let service: Service;
let token: string;
/** A server with pictures, which the settings of the console name. */
let pictures: Server;
let pictureOrigin: string;

beforeAll(async () => {
  pictures = createServer((_request, response) => {
    response.setHeader("Content-Type", "image/svg+xml");
    response.end('<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"/>');
  });
  await once(pictures.listen(0, "127.0.0.1"), "listening");
  pictureOrigin = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}`;
  const [opened, started] = await Promise.all([
    launchBrowser(),
    startOwnSqlService(ownSql, { CONSOLE_IMAGE_HOSTS: pictureOrigin }),
  ]);
  browser = opened;
  service = started;
  ({ token, database } = started);
  await service.ask(
    `mutation ($id: ID!) { updateUser(id: $id, input: { name: "Anna Holm" }) { id } }`,
    { token, variables: { id: started.userId } },
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  pictures.close();
  pictures.closeAllConnections();
});

const ask = async (query: string) => (await service.ask(query, { token })).data;

// In this order: each test uses the rows of the previous one.
describe("a table without console tags", () => {
  test("has a form with its defaults and shows a constraint's message at its field", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("createVenue");
      await open("/venues/new");
      await page.getByLabel(/^Name/).fill("Main cellar");
      await page.getByLabel(/^Code/).fill("MC");
      await page.getByLabel(/^Capacity/).fill("900");
      await page.keyboard.press("ControlOrMeta+s");
      await page
        .locator("[data-field=capacity]", { hasText: "must be between 1 and 500" })
        .waitFor();
      await page.getByLabel(/^Capacity/).fill("40");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByRole("heading", { level: 1, name: "Main cellar" }).waitFor();
      expect(await page.getByLabel("Is active").isChecked()).toBe(true);
    });
    expect((await ask("{ venues { name capacity isActive } }")).venues).toEqual([
      { name: "Main cellar", capacity: 40, isActive: true },
    ]);
  });

  test("accepts a value of each kind by keyboard and shows it after saving", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, show }) => {
      await open("/tastings/new");
      await page.getByLabel(/^Title/).fill("Autumn evening");
      expect(await page.getByLabel("Level").inputValue()).toBe("ADVANCED");
      expect(await page.getByLabel("Currency").inputValue()).toBe("DKK");
      await page.getByRole("checkbox", { name: "Expert only" }).check();
      await page.getByRole("combobox", { name: "Venue" }).focus();
      await page.keyboard.type("Ma");
      await page.keyboard.press("Enter");
      await page.getByRole("combobox", { name: "Host user" }).focus();
      await page.keyboard.type("Ann");
      await page.keyboard.press("Enter");
      await page.getByLabel(/^Held on/).fill("2026-12-01");
      await page
        .locator("[data-field=heldOn]")
        .getByText(/Tuesday,? 1 December 2026/)
        .waitFor();
      await page.getByLabel("Doors").fill("18:30");
      await page.getByLabel("Starts").fill("2026-12-01T19:00:00");
      await page.getByLabel("Fee").fill("249.5");
      await page.getByLabel("Is public").check();
      await page.getByLabel("Keywords").fill("red\nlate harvest");
      await page.getByLabel("Settings").fill('{"seats": [1, 2]}');
      await page.getByLabel("Guest count").fill("12");
      await page.getByLabel("Score").fill("4.25");
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByRole("heading", { level: 1, name: "Autumn evening" }).waitFor();
      expect(await page.getByLabel("Doors").inputValue()).toBe("18:30");
      expect(await page.getByLabel("Starts").inputValue()).toBe("2026-12-01T19:00");
      await page
        .locator("[data-field=keywords]")
        .getByText("Keywords for the web site. One value per line.")
        .waitFor();
      await show("columns-record");
      await open("/tastings");
      const row = page.locator("[aria-rowindex='2']");
      await row.getByText("Anna Holm").waitFor();
      for (const shown of ["Autumn evening", "Advanced", "Main cellar", "1 Dec 2026"])
        await row.getByText(shown).first().waitFor();
    });
    const { tastings } = await ask(
      `{ tastings { nodes { level suits doorsAt fee currency isPublic keywords settings guestCount score } } }`,
    );
    expect(tastings.nodes).toEqual([
      {
        level: "ADVANCED",
        suits: ["EXPERT_ONLY"],
        doorsAt: "18:30:00.000000",
        fee: "249.50",
        currency: "DKK",
        isPublic: true,
        keywords: ["red", "late harvest"],
        settings: { seats: [1, 2] },
        guestCount: "12",
        score: 4.25,
      },
    ]);
  });

  test("shows amounts with their currency and per cent with its sign", async () => {
    await database.pool.query("update tastings set discount = 12.5");
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings?cols=title,fee,discount");
      const row = page.locator("[aria-rowindex='2']");
      await row.getByText("249.50 DKK", { exact: true }).waitFor();
      await row.getByText("12.5 %", { exact: true }).waitFor();
      await row.getByText("Autumn evening").click();
      const fee = page.locator("[data-field=fee]");
      await fee.getByText("DKK", { exact: true }).waitFor();
      await page.locator("[data-field=discount]").getByText("%", { exact: true }).waitFor();
      // The currency of the form, not the stored one.
      await page.getByLabel("Currency").fill("EUR");
      await fee.getByText("EUR", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Discard" }).click();
    });
  });

  test("shows amounts of other times and of others with their currency, too", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings");
      await page.getByText("Autumn evening").click();
      await page.getByLabel("Fee").fill("300");
      await page.getByLabel("Currency").fill("EUR");
      await page.getByText("249.50 DKK").waitFor();
      await database.pool.query("update tastings set fee = 275, currency = 'SEK'");
      await page.getByRole("button", { name: "Save" }).click();
      const dialog = page.getByRole("alertdialog");
      for (const amount of ["249.50 DKK", "300.00 EUR", "275.00 SEK"])
        await dialog.getByText(amount).waitFor();
      await dialog.getByRole("button", { name: "Take theirs" }).click();
      await dialog.waitFor({ state: "detached" });
      // The older amount has the currency of its time.
      await database.pool.query("update tastings set fee = 249.5, currency = 'DKK'");
      await page.getByRole("tab", { name: "History" }).click();
      const changes = page.locator(".history li");
      await changes.getByText("249.50 DKK → 275.00 SEK").waitFor();
      await changes.getByText("275.00 SEK → 249.50 DKK").waitFor();
    });
  });

  test("asks about an amount and its currency together", async () => {
    const stored = async () =>
      (await database.pool.query("select fee::text, currency, discount::text from tastings"))
        .rows[0];
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await database.pool.query("update tastings set fee = 300, currency = 'DKK', discount = 5");
      await open("/tastings");
      await page.getByText("Autumn evening").click();
      const dialog = page.getByRole("alertdialog");
      const save = () => page.getByRole("button", { name: "Save" }).click();
      const expectDialog = async (mine: string, theirs: string, before: string) => {
        await dialog.waitFor();
        expect(await dialog.locator("legend").allInnerTexts()).toEqual(["Fee and Currency"]);
        for (const text of [`Mine\n${mine}`, `Theirs\n${theirs}`, `Before ${before}`])
          expect(await dialog.innerText()).toContain(text);
      };
      const expectSaved = async (values: Record<string, string>) => {
        await dialog.waitFor({ state: "detached" });
        // Without unsaved changes.
        await page
          .getByRole("button", { name: "Save" })
          .and(page.locator("[disabled], [aria-disabled=true]"))
          .waitFor();
        expect(await stored()).toMatchObject(values);
      };

      // Another field of the other user is merged.
      await page.getByRole("textbox", { name: "Currency" }).fill("EUR");
      await database.pool.query("update tastings set fee = 250, discount = 7");
      await save();
      await expectDialog("300.00 EUR", "250.00 DKK", "300.00 DKK");
      await expectAccessible("[role=alertdialog]");
      await dialog.getByRole("button", { name: "Save mine" }).click();
      await expectSaved({ fee: "300.00", currency: "EUR", discount: "7.0" });

      await page.getByRole("textbox", { name: "Fee" }).fill("310");
      await database.pool.query("update tastings set currency = 'SEK'");
      await save();
      await expectDialog("310.00 EUR", "300.00 SEK", "300.00 EUR");
      await dialog.getByRole("button", { name: "Take theirs" }).click();
      await expectSaved({ fee: "300.00", currency: "SEK" });
      expect(await page.getByRole("textbox", { name: "Fee" }).inputValue()).toBe("300.00");
      expect(await page.getByRole("textbox", { name: "Currency" }).inputValue()).toBe("SEK");

      // Both choices of one conflict: without an amount, the currency is shown.
      await page.getByRole("textbox", { name: "Fee" }).fill("");
      await database.pool.query("update tastings set currency = 'NOK'");
      await save();
      await expectDialog("Fee empty, Currency SEK", "300.00 NOK", "300.00 SEK");
      await dialog.getByRole("radio", { name: "Mine" }).check();
      await dialog.getByRole("button", { name: "Save this" }).click();
      await expectSaved({ currency: "SEK" });
      expect(await stored()).toMatchObject({ fee: null });
    });
  });

  test("copies an old amount with its currency from the history", async () => {
    await database.pool.query("update tastings set fee = 300, currency = 'DKK'");
    await database.pool.query("update tastings set fee = 40, currency = 'EUR'");
    await database.pool.query("update tastings set fee = 50");
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings");
      await page.getByText("Autumn evening").click();
      const restore = async (change: string, field: string) => {
        await page.getByRole("tab", { name: "History" }).click();
        await page
          .locator(".history li li")
          .filter({ hasText: change })
          .first()
          .getByRole("button", { name: `Copy the old value of ${field} into the form` })
          .click();
        return [
          await page.getByRole("textbox", { name: "Fee" }).inputValue(),
          await page.getByRole("textbox", { name: "Currency" }).inputValue(),
        ];
      };
      expect(await restore("300.00 DKK → 40.00 EUR", "Fee")).toEqual(["300", "DKK"]);
      expect(await restore("40.00 EUR → 50.00 EUR", "Fee")).toEqual(["40", "EUR"]);
      await page.getByRole("button", { name: "Discard" }).click();
      expect(await restore("DKK → EUR", "Currency")).toEqual(["300", "DKK"]);
      await page.getByRole("button", { name: "Discard" }).click();
    });
  });

  test("has no column for a currency that an amount shows", async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      `with product as (insert into products (erp_product_number, name) values ('7', 'Chinon') returning id)
       insert into product_prices (product_id, type, currency, amount)
       select id, 'retail', 'DKK', 129.5 from product returning product_id as id`,
    );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open(`/products/${rows[0]?.id}?tab=productPrices.productId`);
      await cells(page).getByText("129.50 DKK", { exact: true }).waitFor();
      const heads = await page.getByRole("columnheader").allTextContents();
      expect(heads).toContain("Amount");
      expect(heads).not.toContain("Currency");
    });
  });

  test("exports an amount with its currency", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings?cols=title,fee,discount");
      await page.getByRole("button", { name: "Export" }).click();
      await page.getByRole("menuitem").first().click();
      await page.getByText("The export of wine tastings has started").waitFor();
    });
    const { rows } = await database.pool.query(
      "select array(select c ->> 'field' from jsonb_array_elements(columns) as c) as fields from export_job_lists",
    );
    expect(rows).toEqual([{ fields: ["title", "fee", "currency", "discount"] }]);
  });

  test("shows pictures of this server and of those that the settings name, and loads no others", async () => {
    await database.pool.query("update tastings set poster = '/admin/icon.svg'");
    const name = "Autumn evening";
    /** The width of the loaded picture. */
    const widthOf = (picture: Locator) =>
      picture.evaluate(async (image) => {
        // The types of tests have no DOM.
        const loaded = image as unknown as { decode: () => Promise<void>; naturalWidth: number };
        await loaded.decode();
        return loaded.naturalWidth;
      });
    await withJourney(
      { browser, service },
      { token },
      async ({ page, open, expectProblem, expectAccessible }) => {
        // Any request to the other address would fail this test.
        expectProblem(`another origin: GET ${pictureOrigin}/poster.svg`);
        const thumbnail = cells(page).getByRole("img", { name });
        const field = page.locator("[data-field=poster]");
        const picture = field.getByRole("img", { name });
        await open("/tastings?cols=title,poster");
        expect(await widthOf(thumbnail)).toBeGreaterThan(0);
        await expectAccessible();
        await cells(page).getByText(name).click();
        await picture.waitFor();
        await field.getByRole("textbox").fill(`${pictureOrigin}/poster.svg`);
        await page.locator(`img[src="${pictureOrigin}/poster.svg"]`).waitFor();
        expect(await widthOf(picture)).toBe(90);
        await field.getByRole("textbox").fill("https://pictures.example/poster.svg");
        await field
          .getByText("Pictures from https://pictures.example are not shown, because the setting")
          .waitFor();
        for (const text of ["javascript:alert(1)", "data:image/svg+xml,<svg/>", "poster.svg"]) {
          await field.getByRole("textbox").fill(text);
          await field.getByText("Pictures from").waitFor({ state: "detached" });
          expect(await field.locator("img, a").count()).toBe(0);
        }
        await field.getByRole("textbox").fill("/admin/unknown.svg");
        await field.getByText("There is no picture at this address.").waitFor();
        await page.getByRole("button", { name: "Discard" }).click();
      },
    );
    const guest = await loginWith(service.database, ["tastings.read"], "guest@example.com");
    await withJourney({ browser, service }, { token: guest.token }, async ({ page, open }) => {
      const address = "https://pictures.example/poster.svg";
      await database.pool.query("update tastings set poster = $1", [address]);
      await open("/tastings?cols=title,poster");
      // The name of the file fits into the column; the whole address is its title.
      const file = page.getByTitle(address).getByText("poster.svg", { exact: true });
      await file.waitFor();
      await cells(page).getByText(name).click();
      await page.getByRole("link", { name: address }).waitFor();
      await database.pool.query("update tastings set poster = 'javascript:alert(1)'");
      await page.reload();
      const field = page.locator("[data-field=poster]");
      await field.getByText("javascript:alert(1)").waitFor();
      expect(await field.locator("img, a").count()).toBe(0);
    });
  });

  test("has a symbol in the navigation, aligned with lists that have none", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/venues");
      const link = (title: string) =>
        page.getByRole("navigation").getByRole("link", { name: title, exact: true });
      await link("Wine tastings").locator("svg").waitFor();
      expect(await link("Venues").locator("svg").count()).toBe(0);
      const leftOf = async (title: string) =>
        (await link(title).getByText(title, { exact: true }).boundingBox())?.x;
      expect(await leftOf("Wine tastings")).toBe(await leftOf("Venues"));
    });
  });

  test("names a row without a label by its kind and the end of its id, everywhere", async () => {
    const { rows } = await database.pool.query<{ id: string }>(
      "insert into speakers (name) values (null) returning id",
    );
    const { id = "" } = rows[0] ?? {};
    await database.pool.query("update tastings set speaker_id = $1", [id]);
    const name = `Speaker ${id.slice(-8)}`;
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/speakers");
      await cells(page).getByText(name).click();
      await page.getByRole("heading", { level: 1, name }).waitFor();
      await open("/tastings?cols=title,speakerId");
      await cells(page).getByText(name).waitFor();
      await cells(page).getByText("Autumn evening").click();
      const speaker = page.getByRole("combobox", { name: "Speaker" });
      await page.getByRole("button", { name: `Open ${name}` }).waitFor();
      expect(await speaker.inputValue()).toBe(name);
      await speaker.focus();
      await page.getByRole("option", { name }).waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("tab", { name: "History" }).click();
      await page.getByRole("tabpanel").getByText(name).first().waitFor();
    });
    const { suggestions } = await ask(`{ suggestions(entity: "speakers", text: "") { name } }`);
    expect(suggestions).toEqual([{ name }]);
  });

  test("names a referenced row by its date as lists show dates", async () => {
    await database.pool.query("update speakers set born_on = '1980-03-01'");
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings?cols=title,speakerId");
      await cells(page).getByText("1 Mar 1980", { exact: true }).waitFor();
      await cells(page).getByText("Autumn evening").click();
      await page.getByRole("button", { name: "Open 1 Mar 1980" }).waitFor();
      const speaker = page.getByRole("combobox", { name: "Speaker" });
      expect(await speaker.inputValue()).toBe("1 Mar 1980");
    });
  });

  test("keeps the choices of a reference beside its field when the page scrolls", async () => {
    await withJourney({ browser, service }, { token, height: 420 }, async ({ page, open }) => {
      await open("/tastings");
      await cells(page).getByText("Autumn evening").click();
      const speaker = page.getByRole("combobox", { name: "Speaker" });
      const choices = page.getByRole("listbox");
      const top = async () => (await speaker.boundingBox())?.y ?? Number.NaN;
      /** The distance between the field and its choices, above or below it, in pixels. */
      const distance = async () => {
        const field = await speaker.boundingBox();
        const list = await choices.boundingBox();
        if (!field || !list) return Number.NaN;
        return Math.max(list.y - field.y - field.height, field.y - list.y - list.height);
      };
      await speaker.waitFor();
      expect(await top()).toBeGreaterThan(420);
      // The browser scrolls the page to show the field.
      await speaker.focus();
      await choices.getByRole("option").first().waitFor();
      const focusedAt = await top();
      expect(focusedAt).toBeLessThan(420);
      const besideField = async () => (await distance()) < 20;
      await waitFor("choices beside the field", besideField);
      const { x = 0 } = (await speaker.boundingBox()) ?? {};
      await page.mouse.move(x - 8, focusedAt);
      await page.mouse.wheel(0, 40);
      await waitFor("the page to scroll", async () => (await top()) < focusedAt);
      expect(await choices.isVisible()).toBe(true);
      await waitFor("choices beside the field", besideField);
      // The choices close with the field out of view.
      await page.mouse.wheel(0, -2_000);
      await choices.waitFor({ state: "detached" });
      expect(await top()).toBeGreaterThan(420);
    });
  });

  test("covers the message at a reference with choices only when the user types", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings/new");
      await page.getByLabel(/^Title/).fill("Without a venue");
      await page.getByLabel(/^Held on/).fill("2026-12-02");
      await page.keyboard.press("ControlOrMeta+s");
      const venue = page.getByRole("combobox", { name: "Venue" });
      await page
        .locator("[data-field=venueId] [role=alert], [data-field=venueId] .error")
        .waitFor();
      await venue.and(page.locator(":focus")).waitFor();
      expect(await page.getByRole("listbox").count()).toBe(0);
      await page.keyboard.type("Ma");
      await page.getByRole("option", { name: "Main cellar" }).waitFor();
      await takeFirstChoice(page);
      expect(await venue.inputValue()).toBe("Main cellar");
    });
  });

  test("takes no press on choices for an earlier text, which are about to move", async () => {
    const answered = Promise.withResolvers<undefined>();
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await page.route("**/graphql", async (route) => {
        const asks = route.request().postData() ?? "";
        if (asks.includes('"text":"pari"')) await answered.promise;
        await route.continue();
      });
      await database.pool.query("insert into speakers (name) values ('Paris Ek'), ('Ria Pario')");
      await open("/tastings");
      await cells(page).getByText("Autumn evening").click();
      const speaker = page.getByRole("combobox", { name: "Speaker" });
      await speaker.fill("par");
      const paris = page.getByRole("option", { name: "Paris Ek" });
      await paris.waitFor();
      await speaker.press("i");
      const { x = 0, y = 0 } = (await paris.boundingBox()) ?? {};
      await page.mouse.click(x + 20, y + 10);
      expect(await speaker.inputValue()).toBe("pari");
      answered.resolve(undefined);
      await paris.click();
      expect(await speaker.inputValue()).toBe("Paris Ek");
      await page.getByRole("button", { name: "Discard" }).click();
    });
  });

  test("explains a rule about several columns at each of them by its title", async () => {
    await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
      expectProblem("mutation Update");
      await open("/tastings");
      await cells(page).getByText("Autumn evening").click();
      const record = page.getByRole("main");
      await record.getByRole("textbox", { name: "Guest count" }).fill("2000");
      await record.getByRole("textbox", { name: "Fee" }).fill("5");
      await page.keyboard.press("ControlOrMeta+s");
      const message = record.getByText("Fee and Guest count must be at least 10 for 1000 guests");
      await message.nth(1).waitFor();
      expect(
        await record.getByRole("textbox", { name: "Guest count" }).getAttribute("aria-invalid"),
      ).toBe("true");
      expect(await record.getByText("guestCount").count()).toBe(0);
      // A correction of one field removes the message at both.
      await record.getByRole("textbox", { name: "Fee" }).fill("249.50");
      expect(await message.count()).toBe(0);
      await record.getByRole("button", { name: "Discard" }).click();
    });
  });

  test("is found by the text that its rows are named by", async () => {
    for (const shape of ["Burgundy", "Flute", "Large tulip"])
      await service.ask(
        `mutation ($shape: String!) { createGlass(input: { shape: $shape, volumeMl: 500 }) { id } }`,
        { token, variables: { shape } },
      );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/tastings");
      await cells(page).getByText("Autumn evening").click();
      const record = page.getByRole("main");
      const glass = record.getByRole("combobox", { name: "Glass" });
      await glass.focus();
      await page.keyboard.type("tul");
      await page.getByRole("option", { name: "Large tulip" }).click();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("Saved", { exact: true }).waitFor();
      expect(await glass.inputValue()).toBe("Large tulip");
    });
  });

  test("shows no id of a row that the caller may not see", async () => {
    const clerk = await loginWith(service.database, ["tastings.read", "tastings.update"]);
    const { rows } = await database.pool.query<{ id: string; host: string }>(
      "select id, host_user_id as host from tastings",
    );
    const { id = "", host = "" } = rows[0] ?? {};
    await database.pool.query("update tastings set host_user_id = $1", [clerk.userId]);
    await database.pool.query("update tastings set host_user_id = $1", [host]);
    await withJourney(
      { browser, service },
      { token: clerk.token },
      async ({ page, open, expectAccessible }) => {
        const hidden = page.getByText("not visible to you", { exact: true });
        const expectNoId = async () => expect(await page.content()).not.toContain(host);
        await open("/tastings");
        await cells(page).filter({ has: hidden }).waitFor();
        const hint = page.getByTitle("That needs the permission users.read.");
        expect(await hint.count()).toBe(1);
        await expectNoId();
        await open(`/tastings/${id}`);
        const field = page.locator("[data-field=hostUserId]");
        await field.filter({ has: hidden }).waitFor();
        await field.getByText("That needs the permission users.read.").waitFor();
        expect(await field.getByRole("combobox").count()).toBe(0);
        await expectNoId();
        await expectAccessible();
        await page.getByRole("tab", { name: "History" }).click();
        await page.getByText("a deleted row, or one that is not visible to you").first().waitFor();
        await expectNoId();
      },
    );
  });

  test("is listed below the rows that it refers to, with a key of two columns too", async () => {
    await database.pool.query(
      `with made as (insert into products (erp_product_number, name) values ('1', 'Barolo'), ('2', 'Chianti') returning id)
       insert into tasting_wines (tasting_id, product_id) select t.id, made.id from tastings t, made`,
    );
    await withJourney({ browser, service }, { token }, async ({ page, open }) => {
      await open("/venues");
      await page.getByText("Main cellar").click();
      await page.getByRole("tab", { name: "Wine tastings" }).click();
      await page.getByRole("grid").getByText("Autumn evening").click();
      await page.getByRole("dialog").getByRole("tab", { name: "Tasting wines" }).click();
      await page.getByRole("dialog").getByText("Chianti").waitFor();
      await open("/tastingWines");
      await page.getByText("Barolo").waitFor();
      expect(await page.getByText("Autumn evening").count()).toBe(2);
      await page.getByRole("grid").focus();
      await page.keyboard.press("Enter");
      expect(page.url()).toMatch(/\/tastingWines$/);
    });
  });
});

describe("rows of another table in a list", () => {
  test("are added by typing and removed", async () => {
    for (const name of ["Buyer", "Order desk"])
      await service.ask(
        `mutation ($name: String!) { createRole(input: { name: $name, permissionKeys: ["products.read"] }) { id } }`,
        { token, variables: { name } },
      );
    const { userId, roleId } = await loginWith(service.database, [], "bo@example.com");
    await service.database.pool.query("delete from user_roles where role_id = $1", [roleId]);
    const rolesOf = async () =>
      (
        await service.ask(`query ($id: ID!) { user(id: $id) { roles { name } } }`, {
          token,
          variables: { id: userId },
        })
      ).data.user.roles;
    await withJourney({ browser, service }, { token }, async ({ page, open, expectAccessible }) => {
      await open(`/users/${userId}`);
      const box = page.getByRole("combobox", { name: "Roles" });
      for (const name of ["Buyer", "Order desk"]) {
        await box.focus();
        await page.keyboard.type(name.slice(0, 3));
        await page.keyboard.press("Enter");
        await page.locator(".chip", { hasText: name }).waitFor();
      }
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Remove Order desk" }).waitFor();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("Saved", { exact: true }).waitFor();
      expect(await rolesOf()).toEqual([{ name: "Buyer" }, { name: "Order desk" }]);
      await page.getByRole("button", { name: "Remove Buyer" }).click();
      await page.getByText("changed, was Buyer, Order desk").waitFor();
      await expectAccessible();
      await page.keyboard.press("ControlOrMeta+s");
      await page.getByText("changed, was").waitFor({ state: "detached" });
      expect(await rolesOf()).toEqual([{ name: "Order desk" }]);
    });
  });
});
