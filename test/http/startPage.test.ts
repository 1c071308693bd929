import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parse } from "graphql";
import { send } from "../helpers/http.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const page = (path: string) =>
  send(service.url, { method: "GET", path, headers: { accept: "text/html" } });
const linksOf = (html: string) =>
  [...html.matchAll(/<a href="([^"#]*)[^"]*"/g)].map(([, href = ""]) => href);

describe("the start page", () => {
  test("links to existing pages", async () => {
    const answer = await page("/");
    expect(answer.status).toBe(200);
    expect(linksOf(answer.text)).toEqual(["/admin", "/graphql", "/docs/", "/readyz"]);
    for (const link of linksOf(answer.text)) expect((await page(link)).status).toBe(200);
  });

  test("loads and runs nothing", async () => {
    expect((await page("/")).headers["content-security-policy"]).toContain("default-src 'none'");
  });

  test("is answered by GET only", async () => {
    const answer = await send(service.url, { method: "POST", path: "/" });
    expect(answer).toMatchObject({ status: 405, headers: { allow: "GET, HEAD" } });
  });
});

describe("the documentation", () => {
  test("serves every page, and links between pages are valid", async () => {
    const list = linksOf((await page("/docs/")).text).filter((href) => href.endsWith(".md"));
    expect(list.length).toBeGreaterThan(10);
    const seen = new Set<string>();
    for (const from of list) {
      const answer = await page(from);
      expect([from, answer.status]).toEqual([from, 200]);
      for (const href of linksOf(answer.text)) {
        const target = new URL(href, `http://host${from}`);
        if (target.host === "host" && target.pathname.endsWith(".md")) seen.add(target.pathname);
      }
    }
    for (const path of seen)
      if (!path.startsWith("/bench/"))
        expect([path, (await page(path)).status]).toEqual([path, 200]);
  });

  test("escapes HTML in pages", async () => {
    const { text } = await page("/README.md");
    expect(text).not.toContain("<!-- settings -->");
  });

  test("serves nothing but its pages", async () => {
    for (const path of ["/docs/..%2fpackage.json", "/docs/advisories.json", "/package.json"])
      expect((await page(path)).status).toBe(404);
  });
});

test("the playground opens with operations that are valid", async () => {
  const { text } = await page("/graphql");
  const [, config = ""] = /RURU_CONFIG\s*=\s*(\{.*?\});?\s*</s.exec(text) ?? [];
  const { defaultQuery, defaultHeaders } = JSON.parse(config) as Record<string, string>;
  expect(parse(defaultQuery ?? "").definitions).toHaveLength(4);
  expect(defaultHeaders).toContain("Authorization");
  for (const operationName of ["FirstUser", "Me", "Products"]) {
    const { json } = await send(service.url, {
      path: "/graphql",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: defaultQuery, operationName }),
    });
    // Without a token some are rejected, but none as invalid.
    expect([undefined, "UNAUTHENTICATED"]).toContain(json.errors?.[0].extensions.code);
  }
});
