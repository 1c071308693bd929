import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, Page } from "playwright-core";
import { launchBrowser } from "../helpers/console/browser.ts";
import {
  type JourneyOptions,
  type Journey,
  withJourney,
  cells,
} from "../helpers/console/journey.ts";
import { type Service, startService } from "../helpers/service.ts";
import { waitFor } from "../helpers/waitFor.ts";

// The console with the keyboard alone, and its announcements to screen readers. Roles are read from the accessibility tree,
// without the parts that an open dialog hides.

let browser: Browser;
let service: Service;
let token: string;

beforeAll(async () => {
  [browser, service] = await Promise.all([launchBrowser(), startService()]);
  ({ token } = await service.login([
    ...["products.read", "products.create", "products.update", "reviewers.read"],
    ...["reviewers.create", "exports.create", "exports.read"],
  ]));
  await service.database.pool.query(
    `insert into products (erp_product_number, name, vintage)
     select lpad(n::text, 6, '0'), 'Wine ' || lpad(n::text, 2, '0'), 1990 + n from generate_series(1, 30) as n`,
  );
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

const journey = (options: JourneyOptions, work: (journey: Journey) => Promise<void>) =>
  withJourney({ browser, service }, { token, ...options }, work);

const press = async (page: Page, ...keys: string[]) => {
  for (const key of keys) await page.keyboard.press(key);
};

/** Inserts a reviewer with a unique name and returns the id. */
async function insertReviewer(name: string): Promise<string> {
  const { rows } = await service.database.pool.query<{ id: string }>(
    "insert into reviewers (name) values ($1) returning id",
    [name],
  );
  return rows[0]?.id ?? "";
}

const exists = async (id: string) => {
  const { rows } = await service.database.pool.query("select from reviewers where id = $1", [id]);
  return rows.length > 0;
};

/** The name of the cell that the keys act on, as the accessibility tree has it. */
async function currentCell(page: Page): Promise<string | null> {
  return page.evaluate<string | null>(`(() => {
    const id = document.activeElement?.getAttribute("aria-activedescendant");
    const cell = id === null || id === undefined ? null : document.getElementById(id);
    return cell && (cell.getAttribute("aria-label") ?? cell.textContent);
  })()`);
}

/** Waits until a screen reader was told the text. */
async function isTold(page: Page, text: string): Promise<void> {
  const regions = page.getByRole("status").or(page.getByRole("alert"));
  await regions.filter({ hasText: text }).first().waitFor();
}

/** Where the element that has the focus is, when it begins outside the window. */
const outOfView = (page: Page) =>
  page.evaluate<string | null>(`(() => {
    const { top, bottom } = document.activeElement.getBoundingClientRect();
    const isIn = (top >= 0 && top <= innerHeight - 24) || (bottom - top > innerHeight && top < innerHeight);
    return isIn ? null : top + " to " + bottom + ": " + document.activeElement.outerHTML.slice(0, 200);
  })()`);

describe("a list", () => {
  test("starts at the name of the first row, and its titles are reached by the arrows", async () => {
    await journey({}, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      expect(await currentCell(page)).toBe("Wine 01");
      await press(page, "ArrowDown");
      expect(await currentCell(page)).toBe("Wine 02");
      await press(page, "ArrowUp", "ArrowUp");
      expect(await currentCell(page)).toBe("Name");
      await press(page, "Enter");
      await isTold(page, "sorted by Name, descending");
      await press(page, "ArrowDown");
      expect(await currentCell(page)).toBe("Wine 30");
    });
  });

  test("tells the new width of a column", async () => {
    await journey({}, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await press(page, "ArrowUp", "Shift+ArrowRight");
      await isTold(page, "Name, 296 pixels wide");
    });
  });

  test("selects by Space in the first column, and tells how many rows are selected", async () => {
    await journey({}, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await press(page, "Home");
      expect(await currentCell(page)).toBe("Select Wine 01");
      await press(page, "Space");
      await isTold(page, "1 row selected");
      const cell = page.getByRole("gridcell", { name: "Select Wine 01" });
      expect(await cell.getAttribute("aria-selected")).toBe("true");
      expect(await page.getByRole("dialog").count()).toBe(0);
    });
  });

  test("keeps the current cell in view in a low window", async () => {
    await journey({ width: 320, height: 256 }, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await cells(page).getByText("Wine 01").waitFor();
      // The description is cut when its height is known, which moves the list.
      await page.getByRole("button", { name: "More" }).waitFor();
      for (let row = 2; row <= 6; row++) {
        await press(page, "ArrowDown");
        const cell = page.locator(".grid-cell.is-current");
        await waitFor("the cell to be in view", async () => {
          const box = await cell.boundingBox();
          return box !== null && box.y >= 0 && box.y + box.height <= 256;
        });
      }
    });
  });

  test("has the focus, and is announced, after a choice of the palette", async () => {
    await journey({}, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await press(page, "ControlOrMeta+k");
      await page.getByRole("combobox").waitFor();
      await page.keyboard.type("wine types");
      await isTold(page, "1 result");
      await press(page, "Enter");
      await page.getByRole("grid", { name: "Wine types" }).and(page.locator(":focus")).waitFor();
      await isTold(page, "Wine types");
    });
  });
});

test("Tab leaves the query as it was typed", async () => {
  await journey({}, async ({ page, open }) => {
    await open("/products");
    await page.locator(".cm-content").waitFor();
    await press(page, "/");
    await page.keyboard.type("vintage:2019");
    await page.locator(".cm-tooltip-autocomplete").waitFor({ state: "detached" });
    await press(page, "Tab");
    expect(await page.locator(".cm-content").innerText()).toBe("vintage:2019");
  });
});

test("the query box says why its query is refused", async () => {
  await journey({}, async ({ page, open, expectProblem }) => {
    expectProblem("nme");
    await open("/products?q=nme:x");
    const box = page.locator(".cm-content[aria-invalid=true]");
    await box.waitFor();
    const id = await box.getAttribute("aria-describedby");
    expect(await page.locator(`[id="${id}"]`).innerText()).toContain("`nme` is not a field");
  });
});

test("the themes are choices, of which one is chosen", async () => {
  await journey({}, async ({ page, open, expectAccessible }) => {
    await open("/products");
    await page.getByRole("button", { name: /^Account/ }).press("Enter");
    await page.getByRole("menuitemradio", { name: "System", checked: true }).waitFor();
    await page.getByRole("menuitemradio", { name: "Dark" }).press("Enter");
    await page.locator("html[data-theme=dark]").waitFor();
    await page.getByRole("button", { name: /^Account/ }).press("Enter");
    await page.getByRole("menuitemradio", { name: "Dark", checked: true }).waitFor();
    await expectAccessible();
  });
});

test("shortcuts work while a button that opens a menu or a dialog has the focus", async () => {
  await journey({}, async ({ page, open }) => {
    await open("/products");
    await page.getByRole("grid").and(page.locator(":focus")).waitFor();
    for (const name of ["Columns", "Export"]) {
      await page.getByRole("button", { name }).focus();
      await press(page, "ControlOrMeta+k");
      await page.getByRole("dialog").waitFor();
      await press(page, "Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
  });
});

test("the skip link is the first stop of a page without a list", async () => {
  await journey({}, async ({ page, open }) => {
    await open("/report/handbookContents");
    await page.getByRole("heading", { level: 1 }).waitFor();
    await press(page, "Tab");
    expect(await page.locator(":focus").innerText()).toBe("Skip to the content");
  });
});

describe("a drawer", () => {
  test.each([
    [1280, 800],
    [640, 400],
  ])("of %i × %i pixels shows each field that has the focus", async (width, height) => {
    await journey({ width, height }, async ({ page, open }) => {
      await open("/products");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await press(page, "Space");
      const drawer = page.getByRole("dialog", { name: "Product" });
      await drawer.getByLabel(/^Name/).waitFor();
      const last = drawer.locator("[data-field] :is(input, textarea, select)").last();
      for (let presses = 0; presses < 60; presses++) {
        await press(page, "Tab");
        expect(await outOfView(page)).toBeNull();
        if ((await last.and(page.locator(":focus")).count()) > 0) return;
      }
      throw new Error("the last field was not reached");
    });
  });

  test("leaves messages where they are read and used", async () => {
    const id = await insertReviewer("Frances Gone");
    await journey({}, async ({ page, open }) => {
      await open(`/reviewers?open=reviewers%2F${id}`);
      const drawer = page.getByRole("dialog", { name: "Reviewer" });
      await drawer.getByLabel(/^Name/).fill("Frances Gone Again");
      await press(page, "ControlOrMeta+s");
      await isTold(page, "Saved");
      // The drawer below is still open when the one above deletes its row.
      await open(`/products?open=reviewers%2F${id}`);
      await drawer.getByLabel(/^Name/).waitFor();
      await drawer.getByRole("button", { name: "Delete" }).press("Enter");
      await isTold(page, "Frances Gone Again will be deleted");
      await press(page, "u");
      await isTold(page, "Frances Gone Again was kept");
    });
    expect(await exists(id)).toBe(true);
  });
});

describe("the message of a deletion", () => {
  test("stays while its button has the focus, and `u` undoes it whatever else was offered since", async () => {
    const id = await insertReviewer("Ann Undone");
    await journey({}, async ({ page, open }) => {
      await page.clock.install();
      await open(`/reviewers/${id}`);
      await page.getByRole("button", { name: "Delete" }).press("Enter");
      const undo = page.getByRole("button", { name: "Undo" });
      await undo.focus();
      await page.clock.runFor(60_000);
      expect(await undo.count()).toBe(1);
      // The next message has an action, too.
      await page.getByRole("button", { name: "Export" }).press("Enter");
      await page.getByRole("menuitem").first().press("Enter");
      await page.getByText("The export of reviewers has started").waitFor();
      await press(page, "u");
      await isTold(page, "Ann Undone was kept");
      await page.clock.runFor(60_000);
    });
    expect(await exists(id)).toBe(true);
  });

  test("returns to the list with its query", async () => {
    const id = await insertReviewer("Bob Removed");
    await journey({}, async ({ page, open }) => {
      await open("/reviewers?q=removed");
      await page.getByRole("grid").and(page.locator(":focus")).waitFor();
      await press(page, "Enter");
      await page.getByRole("heading", { level: 1, name: "Bob Removed" }).waitFor();
      await isTold(page, "Bob Removed");
      // Also takes the keys by which the page scrolls.
      await page.locator(".page-body:focus").waitFor();
      await press(page, "Delete");
      await page.getByRole("heading", { level: 1, name: "Reviewers" }).waitFor();
      expect(new URL(page.url()).searchParams.get("q")).toBe("removed");
      await page.getByText("Bob Removed was deleted").waitFor();
    });
    expect(await exists(id)).toBe(false);
  });
});

describe("a form", () => {
  test("tells an error at the field that has the focus already", async () => {
    const id = await insertReviewer("Carl Wrong");
    await journey({}, async ({ page, open }) => {
      await open(`/reviewers/${id}`);
      await page.getByLabel(/^Name/).fill("");
      await press(page, "ControlOrMeta+s");
      await isTold(page, "Name is required");
      const name = page.getByLabel(/^Name/);
      expect(await name.and(page.locator(":focus")).count()).toBe(1);
    });
  });

  test("keeps the focus on Save when it has saved", async () => {
    const id = await insertReviewer("Dora Saved");
    await journey({}, async ({ page, open }) => {
      await open(`/reviewers/${id}`);
      await page.getByLabel(/^Name/).fill("Dora Saved Twice");
      await page.getByRole("button", { name: /^Save/ }).press("Enter");
      await isTold(page, "Saved");
      const save = page.getByRole("button", { name: /^Save/, disabled: true });
      await save.and(page.locator(":focus")).waitFor();
    });
  });

  test("opens no form of a new row when Tab leaves a name that nothing has", async () => {
    await journey({}, async ({ page, open }) => {
      const { rows } = await service.database.pool.query<{ id: string }>("select id from products");
      await open(`/products/${rows[0]?.id}`);
      const field = page.locator("[data-field=wineTypeId] input");
      await field.fill("zzzqq");
      await page.getByText("Nothing found").or(page.getByRole("option")).first().waitFor();
      await press(page, "Tab");
      await page.getByRole("listbox").waitFor({ state: "detached" });
      expect(await page.getByRole("dialog").count()).toBe(0);
    });
  });

  test("keeps a name for which no row was chosen, and tells so when Tab or Enter leaves it", async () => {
    // May not create wine types, whose form Enter would open.
    const changing = await service.login(["products.read", "products.update"]);
    const options = { token: changing.token };
    await journey(options, async ({ page, open, expectAccessible }) => {
      const { rows } = await service.database.pool.query<{ id: string }>("select id from products");
      await open(`/products/${rows[0]?.id}`);
      const field = page.locator("[data-field=wineTypeId]");
      for (const key of ["Tab", "Enter"]) {
        await field.locator("input").fill("zzzqq");
        await press(page, key);
        await isTold(page, "No row has been chosen for this text");
        expect(await field.locator("input").inputValue()).toBe("zzzqq");
        await field.locator("input[aria-invalid=true]").waitFor();
        await expectAccessible();
        await field.locator("input").fill("");
        await field.getByRole("alert").waitFor({ state: "detached" });
      }
      await page.getByRole("button", { name: /^Save/, disabled: true }).waitFor();
    });
  });
});
