import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser } from "playwright-core";
import { insertApiToken } from "../helpers/apiToken.ts";
import { launchBrowser } from "../helpers/console/browser.ts";
import { withJourney, cells } from "../helpers/console/journey.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { startOwnSqlService } from "../helpers/migration/ownSqlService.ts";
import type { Service } from "../helpers/service.ts";

// A migration with what other shops have: a key that is a number, domains, a default of JSON, and a required range.
const ownSql = join(import.meta.dirname, "../fixtures/migration/evenings");

let browser: Browser;
let database: TestDatabase;
let service: Service;
let token: string;
let userId: string;

/** Whether a text does not fit into its place. */
const isCut = (text: { scrollWidth?: number; clientWidth?: number }) =>
  Number(text.scrollWidth) > Number(text.clientWidth);

beforeAll(async () => {
  const [opened, started] = await Promise.all([launchBrowser(), startOwnSqlService(ownSql)]);
  browser = opened;
  service = started;
  ({ token, database, userId } = started);
  await database.pool.query("insert into tasting_venues (name) values ('Old harbour'), ('Vault')");
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

test("a new row starts with the table's JSON, and an error of a domain is at its field", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open, expectProblem }) => {
    expectProblem("createTasting");
    await open("/tastings/new");
    await page.getByLabel(/^Title/).fill("Nebbiolo night");
    await page.getByRole("combobox", { name: "Venue" }).fill("ha");
    await page.getByRole("option", { name: "Old harbour" }).click();
    await page.getByLabel(/^Points/).fill("100.5");
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Points must be 0 to 100").waitFor();
    await page.getByLabel(/^Points/).fill("92.5");
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Tasting created").waitFor();
  });
  const { rows } = await database.pool.query(
    `select v.name, t.points, t.settings from tastings t join tasting_venues v on v.id = t.venue_id`,
  );
  expect(rows).toEqual([{ name: "Old harbour", points: "92.5", settings: {} }]);
});

test("a row whose id is a number opens from its list, with its related rows", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastingVenues");
    await cells(page).getByText("Vault").click();
    await page.getByRole("heading", { level: 1, name: "Vault" }).waitFor();
    await page.getByRole("tab", { name: "Tastings" }).click();
    await page.getByText("No tastings").waitFor();
  });
});

test("a list shows no bytes, and the title of its sorted number in full", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastingVenues?order=NUMBER_DESC");
    await cells(page).getByText("Vault").waitFor();
    const titles = await page.getByRole("columnheader").allTextContents();
    expect(titles.filter((title) => title.trim() !== "")).toEqual(["Name", "Number"]);
    const title = page.locator("[aria-sort=descending] .text");
    expect(await title.textContent()).toBe("Number");
    expect(await title.evaluate(isCut)).toBe(false);
  });
});

test("a table with a required range offers no form for a new row", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastingSlots");
    await page.getByText("No tasting slots yet").waitFor();
    expect(await page.getByRole("button", { name: /^New/ }).count()).toBe(0);
    await open("/tastings");
    await page.getByRole("button", { name: /^New/ }).waitFor();
  });
});

test("a computed field with a place joins the columns of a list", async () => {
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastings");
    await cells(page).getByText("0 tickets").waitFor();
    const titles = await page.getByRole("columnheader").allTextContents();
    const shown = titles.map((title) => title.trim()).filter((title) => title !== "");
    expect(shown).toEqual(["Title", "Ticket count", "Venue", "Code", "Points"]);
  });
});

test("a text with a default does not name a row", async () => {
  const { rows } = await database.pool.query<{ id: string }>(
    "insert into tasting_tickets (tasting_id, price) select id, 150 from tastings returning id",
  );
  const id = rows[0]?.id ?? "";
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastingTickets");
    await cells(page).getByText("Nebbiolo night").click();
    await page.getByRole("heading", { level: 1, name: `Tasting ticket ${id.slice(-8)}` }).waitFor();
  });
});

test("a row without a name is suggested by its kind and the end of its id, not by its id", async () => {
  const suggest = async (text: string) => {
    const query = `{ suggestions(entity: "tastingTickets", text: "${text}") { id name } }`;
    return (await service.ask(query, { token })).data.suggestions;
  };
  await database.pool.query(
    "insert into tastings (title) values ('Port'); insert into tasting_tickets (tasting_id, price) select id, 90 from tastings where title = 'Port'",
  );
  const [first] = await suggest("");
  expect(first.name).toBe(`Tasting ticket ${first.id.slice(-8)}`);
  expect(await suggest(first.id.slice(0, 4))).toEqual([]);
});

test("a row of a table with an owner belongs to whom creates it", async () => {
  const create = (input: string, by: string) =>
    service.ask(`mutation { createTastingNote(input: { ${input} }) { userId apiTokenId } }`, {
      token: by,
    });
  const ofToken = await insertApiToken(database, userId);
  for (const [by, apiTokenId] of [
    [token, null],
    [ofToken.token, ofToken.tokenId],
  ] as const)
    expect(await create('note: "x"', by)).toMatchObject({
      data: { createTastingNote: { userId, apiTokenId } },
    });
  for (const owner of ["userId", "apiTokenId"]) {
    const { errors } = await create(`${owner}: "${userId}", note: "x"`, token);
    expect(errors?.[0]?.message).toContain(`Field "${owner}" is not defined`);
  }
  // The form does not ask for it.
  await withJourney({ browser, service }, { token }, async ({ page, open }) => {
    await open("/tastingNotes/new");
    await page.getByLabel("Note").fill("Deep");
    expect(await page.getByRole("combobox").count()).toBe(0);
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Tasting note created").waitFor();
  });
});

test("a row of a table with an owner is changed and deleted by its owner only, though others see it", async () => {
  const other = await service.login(["tastings.read", "tastings.update"]);
  const own = await service.ask(
    `mutation { created: createTastingNote(input: { note: "Peppery" }) { id } }`,
    { token: other.token },
  );
  const { rows } = await database.pool.query<{ id: string }>(
    "insert into tasting_notes (user_id, note) values ($1, 'Smoky') returning id",
    [userId],
  );
  const id = rows[0]?.id ?? "";
  const answers = await service.ask(
    `{ tastingNote(id: "${id}") { note }
       console { entities { name hasHistory historyOwnerField canCreate { ownerField } canUpdate { ownerField } canDelete { ownerField } } } }`,
    { token: other.token },
  );
  expect(answers.data.tastingNote).toEqual({ note: "Smoky" });
  expect(answers.data.console.entities).toContainEqual({
    name: "tastingNotes",
    hasHistory: true,
    historyOwnerField: "userId",
    canCreate: { ownerField: null },
    canUpdate: { ownerField: "userId" },
    canDelete: { ownerField: "userId" },
  });
  for (const [mutation, verb] of [
    [`updateTastingNote(id: "${id}", input: { note: "Mine" }) { id }`, "update"],
    [`updateTastingNote(id: "${id}", input: {}) { id }`, "update"],
    [`deleteTastingNote(id: "${id}")`, "delete"],
  ]) {
    const { errors } = await service.ask(`mutation { ${mutation} }`, { token: other.token });
    expect(errors?.[0]).toMatchObject({
      message: `Only the owner of this tasting note may ${verb} it`,
      extensions: { code: "FORBIDDEN", path: ["id"] },
    });
  }
  const history = (of: string) =>
    service.ask(`{ recordHistory(entity: "tastingNotes", id: "${of}") { nodes { operation } } }`, {
      token: other.token,
    });
  expect((await history(own.data.created.id)).data.recordHistory.nodes).toHaveLength(1);
  expect((await history(id)).errors?.[0]).toMatchObject({
    message: "Missing required permission: audit.read",
  });
  const journey = { token: other.token };
  await withJourney({ browser, service }, journey, async ({ page, open, expectAccessible }) => {
    await open(`/tastingNotes/${id}`);
    await page.getByTitle("Only its owner may change this.").first().waitFor();
    const buttons = page.getByRole("button", { name: /^(Save|Delete)$/ });
    expect(await buttons.count()).toBe(0);
    const tab = page.getByRole("tab", { name: "History" });
    expect(await tab.count()).toBe(0);
    await expectAccessible();
    await page.keyboard.press("Delete");
    await open(`/tastingNotes/${own.data.created.id}`);
    await page.getByLabel("Note").fill("Peppery, with plums");
    await page.keyboard.press("ControlOrMeta+s");
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await tab.count()).toBe(1);
  });
  const notes = await database.pool.query(
    "select note from tasting_notes where note in ('Smoky', 'Mine') or user_id = $1 order by 1",
    [other.userId],
  );
  expect(notes.rows).toEqual([{ note: "Peppery, with plums" }, { note: "Smoky" }]);
});

describe("a column of a domain", () => {
  test("has the type, the bounds and the length of its base type and its check", async () => {
    const { data } = await service.ask(
      `{ console { entities { name fields { name kind decimals maximum maxLength } } }
         __type(name: "Tasting") { fields { name type { name } } } }`,
      { token },
    );
    const { fields } = data.console.entities.find(
      ({ name }: { name: string }) => name === "tastings",
    );
    expect(fields).toContainEqual(
      expect.objectContaining({ name: "points", kind: "DECIMAL", decimals: 1, maximum: "999.9" }),
    );
    expect(fields).toContainEqual(expect.objectContaining({ name: "code", maxLength: 8 }));
    expect(data.__type.fields).toContainEqual({ name: "points", type: { name: "BigFloat" } });
  });

  test("takes only values of its base type", async () => {
    const { errors } = await service.ask(
      `mutation { createTasting(input: { title: "Barolo", points: "many" }) { id } }`,
      { token },
    );
    expect(errors?.[0]).toMatchObject({ extensions: { path: ["input", "points"] } });
  });

  test.each([
    ["92.55", "points can have 1 decimal at most"],
    ["5000", "points can have 3 digits before the point at most"],
    ["500", "points must be 0 to 100"],
  ])("refuse %s instead of rounding it, with its field", async (points, message) => {
    const { errors } = await service.ask(
      `mutation { createTasting(input: { title: "Barolo", points: "${points}" }) { id } }`,
      { token },
    );
    expect(errors?.[0]).toMatchObject({ message, extensions: { path: ["input", "points"] } });
  });
});
