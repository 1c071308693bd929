import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { migrate } from "../src/migration/migrate.ts";
import { startLocalPostgres } from "../dev/emulators/postgres.ts";
import { addSession, launchBrowser } from "../test/helpers/console/browser.ts";
import { type ServerProcess, startServerProcess } from "../test/helpers/service.ts";
import { readCounts } from "./readCounts.ts";

// The console over 100,000 products, in headless Chromium against the real server:
//   npm run admin:build && npm run bench -- console [products]
// Each load uses a new browser profile. CONSOLE_BROWSER selects another Chromium than that of the tests.

const { products } = readCounts({ products: 100_000 });

const database = await startLocalPostgres({
  dataDir: join(tmpdir(), `console-bench-${randomUUID()}`),
  log: () => {},
  ephemeral: true,
});
const pool = new pg.Pool({
  connectionString: database.url,
  options: "-c search_path=backoffice,extensions,pg_temp",
});
const browser = await launchBrowser();
try {
  await migrate({ ownerUrl: database.url, tenant: "backoffice" }, () => {});
  await pool.query(
    `insert into products (erp_product_number, name, country, vintage, wine_type_id)
     select lpad(n::text, 6, '0'), 'Wine ' || lpad(n::text, 6, '0'), case when n % 5 = 0 then 'Italy' else 'France' end,
       1990 + n % 30, (select id from wine_types where name = 'Red')
     from generate_series(1, $1::integer) as n`,
    [products],
  );
  await pool.query("vacuum analyze products");
  const service = await startServerProcess({
    database: { url: database.url, pool, drop: async () => {} },
    env: { LOG_LEVEL: "warn" },
  });
  try {
    await measure(service);
  } finally {
    await service.stop();
  }
} finally {
  await browser.close();
  await pool.end();
  await database.stop();
}

async function measure(service: ServerProcess): Promise<void> {
  const { token } = await service.login(["products.read", "products.update"]);
  const open = (slowdown: number) => openList(browser, { url: service.url, token, slowdown });

  const cpu: number[] = [];
  for (let turn = 0; turn < 5; turn++) {
    const list = await open(1);
    cpu.push(list.threadMs);
    await list.close();
  }
  report("main thread until the first rows, median of 5, in ms of CPU", quantile(cpu, 0.5));

  const wall: number[] = [];
  for (let turn = 0; turn < 9; turn++) {
    const list = await open(4);
    wall.push(list.rowsMs);
    await list.close();
  }
  report("first rows at a processor slowed 4 times, p75 of 9, in ms", quantile(wall, 0.75));

  const { page, close } = await open(1);
  const jumps: number[] = [];
  let mostRows = 0;
  for (let turn = 0; turn < 9; turn++) {
    jumps.push(await jump(page, "ControlOrMeta+End", products + 1));
    mostRows = Math.max(mostRows, await page.getByRole("row").count());
    await jump(page, "ControlOrMeta+Home", 2);
  }
  report("Ctrl End until the last row shows, worst of 9, in ms", Math.max(...jumps));
  report("most rows in the page", mostRows);
  await close();
}

interface OpenedList {
  page: Page;
  /** CPU time of the page's main thread. */
  threadMs: number;
  /** From the start of the navigation until the first row of data is in the page. */
  rowsMs: number;
  close: () => Promise<void>;
}

/** Opens the list of products with an empty browser cache. */
async function openList(
  from: Browser,
  { url, token, slowdown }: { url: string; token: string; slowdown: number },
): Promise<OpenedList> {
  const context = await from.newContext({ viewport: { width: 1360, height: 820 } });
  await addSession(context, { url }, token);
  await context.addInitScript(`window.rowsMs = new Promise((resolve) => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".grid-row .row-link")) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now()));
    }).observe(document, { childList: true, subtree: true });
  })`);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await page.goto(`${url}/admin/products`, { waitUntil: "commit" });
  const rowsMs = await page.evaluate<number>("window.rowsMs");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const task = metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  return { page, threadMs: task * 1000, rowsMs, close: () => context.close() };
}

/** Presses a key in the grid and waits in the page for the row with this index; returns milliseconds. */
async function jump(page: Page, keys: string, rowIndex: number): Promise<number> {
  await page.getByRole("grid").focus();
  await page.evaluate(`window.shown = new Promise((resolve) => {
    const from = performance.now();
    const look = () => document.querySelector("[aria-rowindex='${rowIndex}'] .row-link")
      ? resolve(performance.now() - from) : requestAnimationFrame(look);
    look();
  }); undefined`);
  await page.keyboard.press(keys);
  return Number(await page.evaluate("window.shown"));
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? Number.NaN;
}

function report(what: string, value: number): void {
  console.log(`${what.padEnd(64)} ${Math.round(value)}`);
}
