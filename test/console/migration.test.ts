import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import { tabTo, typeQuery, withJourney, cells } from "../helpers/console/journey.ts";
import { createDatabase } from "../helpers/database.ts";
import type { TestDatabase } from "../helpers/database.ts";
import { type DevService, startDevService } from "../helpers/dev/devService.ts";
import { type ExtraSqlDir, createExtraSqlDir } from "../helpers/migration/extraSqlDir.ts";
import { type AskOptions, askAt } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

// The first examples of docs/database.md: a table, a reference to it, a join table, a column.
const page = readFileSync(join(import.meta.dirname, "../../docs/database.md"), "utf8");
const examples = [
  ...page.matchAll(/`db\/migrations\/(?:NNNN_)?(\w+)\.sql`[^`]*\n\n```sql\n([^]*?)```/g),
]
  .slice(0, 4)
  .map(([, name = "", sql = ""]) => ({ name, sql }));

let browser: Browser;
let database: TestDatabase;
let own: ExtraSqlDir;
let service: DevService;
let token: string;

beforeAll(async () => {
  [browser, database, own] = await Promise.all([
    launchBrowser(),
    createDatabase(),
    createExtraSqlDir(),
  ]);
  service = await startDevService(database, own.path);
  const { data } = await ask(
    `mutation { bootstrapFirstUser(email: "anna@example.com") { token } }`,
  );
  token = String(data.bootstrapFirstUser.token);
  await ask(`mutation { createProduct(input: { erpProductNumber: "1", name: "Barolo" }) { id } }`, {
    token,
  });
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await Promise.all([database.drop(), own.remove()]);
});

const ask = (query: string, options?: AskOptions) => askAt(service.url, query, options);
const heading = (page_: Page, name: string) => page_.getByRole("heading", { level: 1, name });
const save = (page_: Page) => page_.keyboard.press("ControlOrMeta+s");

// In this order: each test uses the rows of the previous one.
describe("a table that a migration adds", () => {
  test("appears in an open console while the service runs, and its rows are created, found and changed", async () => {
    expect(examples.map(({ name }) => name)).toEqual([
      "suppliers",
      "products_supplier",
      "supplier_wine_types",
      "products_is_organic",
    ]);
    await withJourney({ browser, service }, { token }, async (journey) => {
      const { page: at, open, show, expectProblem } = journey;
      // A rejected row returns an error.
      expectProblem("createSupplier");
      await open();
      await heading(at, "Today").waitFor();
      const link = at.getByRole("navigation").getByRole("link", { name: "Suppliers" });
      expect(await link.count()).toBe(0);
      // As an editor saves them: the service applies them and restarts its server.
      for (const { name, sql } of examples) await own.migration(name, sql);
      await waitFor(
        "the last example",
        async () => {
          const query = `{ __type(name: "Product") { fields { name } } }`;
          const { data } = await ask(query).catch(() => ({ data: null }));
          return JSON.stringify(data).includes("isOrganic");
        },
        240_000,
      );
      // The tab is looked at again. Without windows, the browser never hides it.
      await at.evaluate(`document.dispatchEvent(new Event("visibilitychange", { bubbles: true }))`);
      await link.click();
      await at.getByText("No suppliers yet").waitFor();
      await at.keyboard.press("n");
      await at.getByLabel(/^Name/).fill(" ");
      await save(at);
      await at.getByText("must be 1 to 200 visible characters").waitFor();
      await at.getByLabel(/^Name/).fill("Établissements Durand");
      await at.getByLabel(/^Country/).fill("FR");
      await save(at);
      await heading(at, "Établissements Durand").waitFor();
      await open("/suppliers");
      await typeQuery(at, "cou");
      await at.getByRole("option", { name: /^country/ }).waitFor();
      await show("migration-completion");
      await at.keyboard.press("Tab");
      await at.keyboard.type("FR");
      await at.keyboard.press("Enter");
      await at.getByText("1 row found").waitFor();
    });
  });

  test("is chosen for a product by two letters, and shows its products", async () => {
    await withJourney({ browser, service }, { token }, async ({ page: at, open, show }) => {
      await open("/products");
      await at.getByText("Barolo").click();
      await at.getByRole("combobox", { name: "Supplier" }).fill("Ét");
      await at.getByRole("option", { name: /Durand/ }).click();
      await at.getByLabel("Is organic").check();
      await save(at);
      await at.getByText("Saved", { exact: true }).waitFor();
      await at.keyboard.press("Escape");
      await at.getByRole("tab", { name: "History" }).click();
      await at.getByText("Établissements Durand").waitFor();
      await show("migration-history");
      await open("/suppliers");
      await at.getByText("Établissements Durand").click();
      await at.getByRole("tab", { name: "Products" }).click();
      await at.getByRole("grid").getByText("Barolo").waitFor();
      await show("migration-related");
    });
  });

  test("is found, opened, changed, deleted and restored by keyboard", async () => {
    await withJourney({ browser, service }, { token }, async ({ page: at, open }) => {
      await open();
      await heading(at, "Today").waitFor();
      await at.keyboard.press("ControlOrMeta+k");
      await at.getByRole("dialog").waitFor();
      await at.keyboard.type("suppl");
      await at.getByRole("option", { name: /Suppliers/ }).waitFor();
      await at.keyboard.press("Enter");
      await heading(at, "Suppliers").waitFor();
      await cells(at).first().waitFor();
      await tabTo(at.getByRole("grid"));
      await at.keyboard.press("Enter");
      await heading(at, "Établissements Durand").waitFor();
      await at.keyboard.press("e");
      await at.keyboard.press("ControlOrMeta+a");
      await at.keyboard.type("Maison Durand");
      await save(at);
      await heading(at, "Maison Durand").waitFor();
      await tabTo(at.getByRole("tab", { name: "Fields" }));
      await at.keyboard.press("h");
      await at.getByRole("tabpanel").getByText("Établissements").waitFor();
      await at.keyboard.press("Delete");
      await at.getByText("Maison Durand will be deleted").waitFor();
      await at.keyboard.press("u");
      await at.getByText("Maison Durand was kept").waitFor();
    });
    const { data } = await ask("{ suppliers { nodes { name } } }", { token });
    expect(data.suppliers.nodes).toEqual([{ name: "Maison Durand" }]);
  });

  test("restores its rows after Undo and deletes them otherwise", async () => {
    await ask(`mutation { createSupplier(input: { name: "Weingut Kurz" }) { id } }`, {
      token,
    });
    const names = async () => {
      const { data } = await ask("{ suppliers { nodes { name } } }", { token });
      return (data.suppliers.nodes as { name: string }[]).map(({ name }) => name);
    };
    await withJourney({ browser, service }, { token }, async ({ page: at, open, show }) => {
      for (const takesBack of [true, false]) {
        await open("/suppliers");
        await at.getByText("Weingut Kurz").click();
        await at.getByRole("button", { name: "Delete" }).click();
        await at.getByText("Weingut Kurz will be deleted").waitFor();
        const struck = at
          .getByRole("grid")
          .getByRole("deletion")
          .filter({ hasText: "Weingut Kurz" });
        await struck.waitFor();
        if (takesBack) {
          await show("delete-undo");
          await at.getByRole("button", { name: "Undo" }).click();
          await at.getByText("Weingut Kurz was kept").waitFor();
          await struck.waitFor({ state: "detached" });
          expect(await names()).toContain("Weingut Kurz");
        } else {
          await at.getByText("Weingut Kurz was deleted").waitFor();
          expect(await names()).not.toContain("Weingut Kurz");
        }
      }
    });
  });
});
