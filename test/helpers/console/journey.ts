import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import axe, { type Result, type RunOptions } from "axe-core";
import type { Browser, BrowserContext, Locator, Page, Response } from "playwright-core";
import { shouldWriteScreenshots } from "../environment.ts";
import type { Service } from "../service.ts";
import { addSession, browserTimeoutMs } from "./browser.ts";

const images = join(import.meta.dirname, "../../../docs/images");

/** Browser settings; the default is a wide window in the light theme without a session. */
export interface JourneyOptions {
  /** A session token, set as a cookie before the first page opens. */
  token?: string;
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
}

/** A browser window that records errors and requests to other origins. */
export interface Journey {
  page: Page;
  context: BrowserContext;
  /** Opens an address below `/admin`, such as `/products?q=barolo`. */
  open: (address?: string) => Promise<Response | null>;
  /** Goes to an address below `/admin` as a link of the console does, without loading the console again. */
  visit: (address: string) => Promise<void>;
  /**
   * Allows responses or errors with this text, such as `"401 POST /graphql"` or `/409/`.
   * Any other error fails the journey at its end.
   */
  expectProblem: (text: string | RegExp) => void;
  /**
   * Checks the page, or the element of a selector, with axe (WCAG 2.0 to 2.2, A and AA).
   * Call it with each menu and dialog open, but not at the end, which is checked in any case.
   */
  expectAccessible: (within?: string) => Promise<void>;
  /** Also checks the contrast in the other theme. */
  expectAccessibleInBothThemes: (within?: string) => Promise<void>;
  /** Makes the component of lists throw, by metadata without a part that they need. */
  breakLists: () => Promise<void>;
  /**
   * Checks the page with axe in both themes. With SCREENSHOTS=1 it also writes `docs/images/<name>.webp` for a
   * commit, and with `themes` `<name>-dark.webp`.
   */
  show: (name: string, pictures?: "one" | "themes") => Promise<void>;
}

const wcag = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa"];

/**
 * Runs `work` in a new browser window.
 * Fails on an unexpected console error (such as a Content-Security-Policy violation), exception, failed request
 * or request to another origin, and on an axe violation on the last page.
 */
export async function withJourney(
  { browser, service }: { browser: Browser; service: Pick<Service, "url"> },
  options: JourneyOptions,
  work: (journey: Journey) => Promise<void>,
): Promise<void> {
  const { token, width = 1360, height = 820, ...media } = options;
  const context = await browser.newContext({ viewport: { width, height }, ...media });
  context.setDefaultTimeout(browserTimeoutMs);
  try {
    if (token !== undefined) await addSession(context, service, token);
    const page = await context.newPage();
    const problems = watch(context, new URL(service.url).origin);
    const expected: (string | RegExp)[] = [];
    const journey: Journey = {
      page,
      context,
      open: (address = "") => page.goto(`${service.url}/admin${address}`),
      visit: (address) =>
        page.evaluate(`history.pushState({}, "", ${JSON.stringify(`/admin${address}`)})`),
      expectProblem: (text) => {
        expected.push(text);
      },
      breakLists: async () => {
        expected.push(/TypeError/);
        await page.route("**/graphql", async (route) => {
          if (!(route.request().postData() ?? "").includes("query Console"))
            return route.continue();
          const response = await route.fetch();
          const body = (await response.text()).replaceAll(/"orderBy":\[.*?\]/g, '"orderBy":null');
          return route.fulfill({ response, body });
        });
      },
      expectAccessible: async (within) => {
        await expectAccessible(page, options, within);
      },
      expectAccessibleInBothThemes: (within) => expectAccessibleInBothThemes(page, options, within),
      show: async (name, pictures = "one") => {
        await expectAccessibleInBothThemes(page, options);
        if (!shouldWriteScreenshots) return;
        mkdirSync(images, { recursive: true });
        const write = async (file: string) => {
          const png = await page.screenshot({ animations: "disabled", caret: "hide" });
          writeFileSync(join(images, `${file}.webp`), await toWebp(browser, png));
        };
        await write(name);
        if (pictures === "one") return;
        await page.emulateMedia({ colorScheme: "dark" });
        await write(`${name}-dark`);
        await page.emulateMedia({ colorScheme: "light" });
      },
    };
    await work(journey).catch(async (error: unknown) => {
      throw new Error(`${messageOf(error)}\n\n${await shownText(page)}`, { cause: error });
    });
    if (page.url() !== "about:blank" && !page.isClosed())
      await expectAccessibleInBothThemes(page, options);
    const isExpected = (problem: string) =>
      expected.some((text) =>
        typeof text === "string" ? problem.includes(text) : text.test(problem),
      );
    expect(problems.filter((problem) => !isExpected(problem))).toEqual([]);
  } finally {
    await context.close();
  }
}

/**
 * Takes the first choice for the text typed in a reference. Not a click: the choices move when those for the typed text
 * replace the earlier ones.
 */
export async function takeFirstChoice(page: Page): Promise<void> {
  await page.keyboard.press("Enter");
  await page.getByRole("listbox").waitFor({ state: "detached" });
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** What the page shows at its end, where dialogs are: tells why a journey failed on a slow machine. */
async function shownText(page: Page): Promise<string> {
  const text = await page.locator("body").innerText({ timeout: 5_000 }).catch(messageOf);
  return `The page ${page.url()} showed:\n${text.slice(-2_500)}`;
}

/** Screenshots of all pages together stay below 1.5 MB. */
const webpQuality = 0.5;

/** Compresses a screenshot with the encoder of the browser, to about half of a JPEG. */
async function toWebp(browser: Browser, png: Buffer): Promise<Buffer> {
  const page = await browser.newPage();
  try {
    const encoded = await page.evaluate<string>(`(async () => {
      const response = await fetch("data:image/png;base64,${png.toString("base64")}");
      const bitmap = await createImageBitmap(await response.blob());
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      canvas.getContext("2d").drawImage(bitmap, 0, 0);
      const blob = await canvas.convertToBlob({ type: "image/webp", quality: ${webpQuality} });
      const bytes = new Uint8Array(await blob.arrayBuffer());
      return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    })()`);
    return Buffer.from(encoded, "base64");
  } finally {
    await page.close();
  }
}

/** The cells of the rows of a list; the name of a row is its header. */
export function cells(within: Page | Locator): Locator {
  return within.locator("[role=gridcell], [role=rowheader]");
}

/** Goes to the query box by its key and types at its end, which opens the choices. */
export async function typeQuery(page: Page, text: string): Promise<void> {
  await page.locator(".cm-content").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(text);
}

/** Presses Tab until the control has the focus, like a keyboard user. */
export async function tabTo(control: Locator): Promise<void> {
  const page = control.page();
  for (let presses = 0; presses < 60; presses++) {
    if ((await control.and(page.locator(":focus")).count()) > 0) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`focus not reached by pressing Tab: ${String(control)}`);
}

/** Records errors, failed responses and requests to other origins in all pages of the browser. */
function watch(context: BrowserContext, origin: string): string[] {
  const problems: string[] = [];
  context.on("weberror", (error) => problems.push(`exception: ${error.error().stack ?? ""}`));
  context.on("console", (message) => {
    // Chromium logs failed requests without a method; the response listener below records them.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(`console: ${message.text()}`);
  });
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== origin)
      problems.push(`another origin: ${request.method()} ${request.url()}`);
  });
  context.on("response", (response) => {
    const request = response.request();
    if (response.status() >= 400)
      problems.push(
        `${response.status()} ${request.method()} ${new URL(response.url()).pathname} ${request.postData() ?? ""}`,
      );
  });
  context.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // Navigation and newer searches cancel requests on purpose.
    if (reason !== "net::ERR_ABORTED")
      problems.push(`${reason} ${request.method()} ${new URL(request.url()).pathname}`);
  });
  return problems;
}

/** The kinds of elements that axe has accepted, by theme. */
const accepted = { light: new Set<string>(), dark: new Set<string>() };

/**
 * The kinds of the elements within an element. A kind is the path from the root, with the attributes that style sheets
 * select by (class, role, type and the states), and whether the element has text.
 */
async function kindsWithin(page: Page, within: string): Promise<string[]> {
  const kinds = await page.evaluate<string>(`(() => {
    const kinds = new Map([[null, ""]]);
    const kindOf = (element) => {
      const known = kinds.get(element);
      if (known !== undefined) return known;
      const states = [...element.attributes].filter(({ name, value }) =>
        /^(class|role|type|disabled)$/.test(name) || (/^(aria|data)-/.test(name) && /^[a-z]*$/.test(value)));
      const own = states.map(({ name, value }) => name + "=" + value).sort();
      const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "");
      const kind = kindOf(element.parentElement) + "/" + [element.localName, ...own, hasText].join(" ");
      kinds.set(element, kind);
      return kind;
    };
    const elements = document.querySelectorAll(${JSON.stringify(`${within}, ${within} *`)});
    return [...new Set([...elements].map(kindOf))].join("\\n");
  })()`);
  return kinds.split("\n");
}

/**
 * Checks only the contrast in the second theme, because themes differ in colours alone. Colours come from style sheets, so
 * a page without new kinds of elements needs no second check.
 */
async function expectAccessibleInBothThemes(
  page: Page,
  options: JourneyOptions,
  within = "html",
): Promise<void> {
  const { colorScheme = "light" } = options;
  const kinds = await expectAccessible(page, options, within);
  const other = colorScheme === "light" ? "dark" : "light";
  if (kinds.every((kind) => accepted[other].has(kind))) return;
  await page.emulateMedia({ colorScheme: other });
  await runAxe(page, within, { runOnly: { type: "rule", values: ["color-contrast"] } });
  await page.emulateMedia({ colorScheme });
  for (const kind of kinds) accepted[other].add(kind);
}

/** Returns the kinds of the checked elements. Contrast is checked again only on pages with new kinds of elements. */
async function expectAccessible(
  page: Page,
  { colorScheme = "light" }: JourneyOptions,
  within = "html",
): Promise<string[]> {
  const kinds = await kindsWithin(page, within);
  const hasNew = kinds.some((kind) => !accepted[colorScheme].has(kind));
  await runAxe(page, within, {
    runOnly: { type: "tag", values: wcag },
    rules: { "color-contrast": { enabled: hasNew } },
  });
  for (const kind of kinds) accepted[colorScheme].add(kind);
  return kinds;
}

async function runAxe(
  page: Page,
  within: string,
  which: Pick<RunOptions, "runOnly" | "rules">,
): Promise<void> {
  // Injecting axe takes a third of the time of @axe-core/playwright, which opens a page for each check.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source);
  const options: RunOptions = { ...which, resultTypes: ["violations"] };
  // The full results are large, and take as long to transfer as some of the rules to run.
  const { violations, passes } = await page.evaluate<{ violations: Result[]; passes: number }>(
    `axe.run(${JSON.stringify(within)}, ${JSON.stringify(options)})
       .then(({ violations, passes }) => ({ violations, passes: passes.length }))`,
  );
  expect(passes).toBeGreaterThan(0);
  const found = violations.map(({ id, help, nodes }) => ({
    id,
    help,
    nodes: nodes.map(({ html, failureSummary }) => ({ html, failureSummary })),
  }));
  expect(found).toEqual([]);
}
