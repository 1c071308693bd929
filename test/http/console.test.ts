import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { send } from "../helpers/http.ts";
import { rawBody } from "../helpers/rawBody.ts";
import { type Service, startService } from "../helpers/service.ts";

let service: Service;
/** A service with the settings of a new installation. */
let plain: Service;

beforeAll(async () => {
  plain = await startService();
  service = await startService({
    env: {
      TYPESENSE_URL: "http://127.0.0.1:9",
      TYPESENSE_API_KEY: "k".repeat(16),
      CONSOLE_IMAGE_HOSTS: "https://images.example,http://127.0.0.1:9",
      TYPESENSE_PUBLIC_URL: "https://search.example,https://search2.example:8108",
    },
  });
});
afterAll(async () => {
  await service.stop();
  await plain.stop();
});

/** Requests a path with exactly these headers; `fetch` would add and decode encodings. */
async function get(path: string, headers: Record<string, string> = {}, url = service.url) {
  const response = await fetch(new URL(path, url), {
    redirect: "manual",
    headers: { "accept-encoding": "identity", ...headers },
  });
  return { response, text: await response.text() };
}

const policyOf = (response: Response) =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
      const [name = "", ...values] = directive.split(" ");
      return [name, values];
    }),
  );
const nonceIn = (html: string) => /<meta property="csp-nonce" nonce="([^"]+)">/.exec(html)?.[1];

/** Requests a path with the validators of an earlier response; `fetch` would add `Cache-Control: no-cache`. */
const askAgain = (path: string, known: Response) =>
  send(service.url, {
    method: "GET",
    path,
    headers: { "if-none-match": known.headers.get("etag") ?? "" },
  });

/** The address of the first script of the page. */
async function scriptPath(): Promise<string> {
  const { text } = await get("/admin");
  return /<script[^>]* src="(\/admin\/assets\/[^"]+\.js)"/.exec(text)?.[1] ?? "";
}

describe("the page of the console", () => {
  test.each(["/admin", "/admin/", "/admin/products", "/admin/products/1?tab=history", "/ADMIN"])(
    "is served at %s",
    async (path) => {
      const { response, text } = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(text).toContain('<div id="root">');
    },
  );

  test("has a policy without unsafe words that requires Trusted Types", async () => {
    const { response, text } = await get("/admin");
    const header = response.headers.get("content-security-policy") ?? "";
    expect(header).not.toContain("unsafe");
    const policy = policyOf(response);
    expect(policy.get("default-src")).toEqual(["'none'"]);
    expect(policy.get("script-src")).toEqual(["'self'"]);
    expect(policy.get("style-src")).toEqual(["'self'", `'nonce-${nonceIn(text)}'`]);
    expect(policy.get("frame-ancestors")).toEqual(["'none'"]);
    expect(policy.get("require-trusted-types-for")).toEqual(["'script'"]);
  });

  test("allows pictures of the configured hosts only", async () => {
    expect(policyOf((await get("/admin")).response).get("img-src")).toEqual([
      "'self'",
      "data:",
      "https://images.example",
      "http://127.0.0.1:9",
    ]);
    const { response } = await get("/admin", {}, plain.url);
    expect(policyOf(response).get("img-src")).toEqual(["'self'", "data:"]);
  });

  test("allows requests to the public addresses of the search engine", async () => {
    const { response } = await get("/admin");
    expect(policyOf(response).get("connect-src")).toEqual([
      "'self'",
      "https://search.example",
      "https://search2.example:8108",
    ]);
  });

  test("has a new nonce in each response", async () => {
    const nonces = [nonceIn((await get("/admin")).text), nonceIn((await get("/admin")).text)];
    expect(nonces[0]).toMatch(/^[\w+/=]{24}$/);
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test("is answered 304 with its policy unchanged when the browser has it", async () => {
    const { response } = await get("/admin/orders");
    expect(response.headers.get("cache-control")).toBe("private, no-cache");
    const again = await askAgain("/admin/products", response);
    expect(again.status).toBe(304);
    expect(again.headers["content-security-policy"]).toBeUndefined();
  });

  test("has no inline script or style", async () => {
    const { text } = await get("/admin");
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/);
  });

  test("allows GET only", async () => {
    for (const path of ["/admin", "/admin/products"]) {
      const response = await fetch(`${service.url}${path}`, { method: "POST" });
      expect(response.status).toBe(405);
      expect(response.headers.get("allow")).toBe("GET, HEAD");
    }
  });
});

describe("a file of the console", () => {
  test("with a hash in its name is cached permanently", async () => {
    const { response } = await get(await scriptPath());
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    // The answer allows the origins of ALLOWED_ORIGINS by name.
    expect(response.headers.get("vary")).toBe("Origin, Accept-Encoding");
  });

  test("without a hash is revalidated", async () => {
    const { response } = await get("/admin/icon.svg");
    expect(response.headers.get("content-type")).toMatch(/^image\/svg\+xml/);
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect((await askAgain("/admin/icon.svg", response)).status).toBe(304);
  });

  test.each([
    ["br", brotliDecompressSync],
    ["gzip", gunzipSync],
  ])("is compressed with %s when the browser accepts it", async (encoding, decompress) => {
    const path = await scriptPath();
    const [plain, compressed] = await Promise.all(
      ["identity", encoding].map((accepted) =>
        rawBody(service.url, { path, headers: { "accept-encoding": accepted } }),
      ),
    );
    expect(compressed?.encoding).toBe(encoding);
    expect(plain?.encoding).toBeUndefined();
    expect(decompress(compressed!.body).equals(plain!.body)).toBe(true);
    expect(compressed!.body.length).toBeLessThan(plain!.body.length / 2);
  });

  test("that does not exist in this release is 404, not the page", async () => {
    const { response, text } = await get("/admin/assets/index-00000000.js");
    expect(response.status).toBe(404);
    expect(JSON.parse(text).errors[0].extensions.code).toBe("NOT_FOUND");
  });

  test.each(["/admin/../package.json", "/admin/%2e%2e/package.json", "/admin/..%2fpackage.json"])(
    "outside of the build is not served at %s",
    async (path) => {
      const { body } = await rawBody(service.url, { path });
      expect(body.toString()).not.toContain("back-office");
    },
  );

  test("of the build's metadata is not served", async () => {
    for (const path of ["/admin/.built", "/admin/index.html"])
      expect((await get(path)).text).toContain('<div id="root">');
  });
});

describe("the start page", () => {
  test("links to the console", async () => {
    expect((await get("/")).text).toContain('<a href="/admin">Console</a>');
  });
});

describe("without a build", () => {
  let folder: string;
  let bare: Service;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-"));
    bare = await startService({ database: service.database, constants: { console: { folder } } });
  });
  afterAll(async () => {
    await bare.stop();
    await rm(folder, { recursive: true });
  });

  test("nothing is served, which is logged once", async () => {
    for (const path of ["/admin", "/admin/products", "/admin/assets/index.js"]) {
      const { response } = await get(path, {}, bare.url);
      expect(response.status).toBe(404);
    }
    expect((await get("/", {}, bare.url)).text).not.toContain("/admin");
    expect(bare.output().match(/console not built/g)).toHaveLength(1);
  });

  test("a later build is served in development", async () => {
    const writeBuild = async (text: string, stamp: string) => {
      await mkdir(join(folder, "assets"), { recursive: true });
      await writeFile(join(folder, "index.html"), `<html><head></head><body>${text}</body></html>`);
      await writeFile(join(folder, ".built"), stamp);
    };
    await writeBuild("first", "1");
    expect((await get("/admin", {}, bare.url)).text).toContain("first");
    await writeBuild("second", "2");
    expect((await get("/admin", {}, bare.url)).text).toContain("second");
    expect((await get("/", {}, bare.url)).text).toContain('<a href="/admin">');
  });
});
