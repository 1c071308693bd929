import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Browser, BrowserContext } from "playwright-core";
import { launchBrowser, browserTimeoutMs } from "../helpers/console/browser.ts";
import { addSession } from "../helpers/console/browser.ts";
import { type Service, startService } from "../helpers/service.ts";

const mutation = (name: string) => `mutation { createReviewer(input: { name: "${name}" }) { id } }`;

/** A page that sends a form to the service by itself. As text/plain its body is JSON. */
function formPage(enctype: string): string {
  // Becomes {"query": "…", "x": "="}.
  const name = JSON.stringify({ query: mutation(enctype) }).replace(/\}$/, ', "x": "');
  const escaped = name.replaceAll("&", "&amp;").replaceAll("'", "&#39;");
  return `<!doctype html><title>Prizes</title>
    <form method="post" action="${service.url}/graphql" enctype="${enctype}">
      <input name='${escaped}' value='"}'>
    </form>
    <script>document.forms[0].submit();</script>`;
}

let service: Service;
let browser: Browser;
let context: BrowserContext;
let hostile: { url: string; stop(): Promise<unknown> };

beforeAll(async () => {
  const server = createServer((request, response) => {
    const enctype = new URL(request.url ?? "/", hostile.url).searchParams.get("form");
    const body = enctype === null ? "<!doctype html><title>Prizes</title>" : formPage(enctype);
    response.writeHead(200, { "content-type": "text/html" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = (server.address() as AddressInfo).port;
  hostile = {
    // Another port is another origin of the same site, for which SameSite=Strict sends the cookie.
    url: `http://127.0.0.1:${port}`,
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
  service = await startService({ env: { ALLOWED_ORIGINS: hostile.url } });
  browser = await launchBrowser();
  context = await browser.newContext();
  context.setDefaultTimeout(browserTimeoutMs);
  const { token } = await service.login(["reviewers.read", "reviewers.create"]);
  await addSession(context, service, token);
});
afterAll(async () => {
  await browser.close();
  await service.stop();
  await hostile.stop();
});

async function reviewers(): Promise<string[]> {
  const { rows } = await service.database.pool.query<{ name: string }>(
    "select name from reviewers order by name",
  );
  return rows.map(({ name }) => name);
}

/** Sends a mutation by the script of a page, as the console does. */
async function sendFrom(pageUrl: string, name: string): Promise<string> {
  const page = await context.newPage();
  await page.goto(pageUrl);
  const answer = await page.evaluate(
    async ([url, query]) => {
      const headers = { "content-type": "application/json", "x-office-console": "1" };
      const body = JSON.stringify({ query });
      const sent = { method: "POST", headers, credentials: "include", body } as const;
      return fetch(`${url}/graphql`, sent).then(
        (response) => response.text(),
        (error: unknown) => String(error),
      );
    },
    [service.url, mutation(name)] as const,
  );
  await page.close();
  return answer;
}

describe("the session cookie in a browser", () => {
  test("lets a page of the server change something", async () => {
    expect(await sendFrom(`${service.url}/admin/icon.svg`, "own page")).toContain('"id"');
    expect(await reviewers()).toContain("own page");
  });

  test("lets the script of another origin change nothing, even of an allowed one", async () => {
    expect(await sendFrom(hostile.url, "script")).toContain("Failed to fetch");
    expect(await reviewers()).not.toContain("script");
  });

  test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])(
    "lets a form of another origin change nothing (%s)",
    async (enctype) => {
      const page = await context.newPage();
      const posted = page.waitForRequest((request) => request.method() === "POST");
      await page.goto(`${hostile.url}/?form=${encodeURIComponent(enctype)}`);
      const request = await posted;
      // The browser does send it: the service must not count it.
      expect((await request.allHeaders()).cookie).toContain("office_session=bos_");
      expect(await (await request.response())?.finished()).toBeNull();
      expect(await reviewers()).not.toContain(enctype);
      await page.close();
    },
  );
});
