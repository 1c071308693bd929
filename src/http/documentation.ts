import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { Router } from "express";
import type { MarkdownIt } from "markdown-it";
import { escapeHtml } from "../html/escapeHtml.ts";
import { sendPage } from "./htmlPage.ts";

const root = path.resolve(import.meta.dirname, "../..");
/** Pages outside `docs/` that its pages link to. */
const rootPages = ["README.md", "CHANGELOG.md"];

interface DocumentationPage {
  title: string;
  body: string;
}

/**
 * Serves the repository's Markdown pages at `/docs/<name>.md`, and a list at `/docs/`. Null when the pages or the
 * renderer, a development dependency, are not installed.
 */
export async function loadDocumentation(): Promise<Router | null> {
  const renderer = await loadRenderer();
  const names = await pageNames();
  if (!renderer || names.length === 0) return null;
  const router = Router();
  router.get("/docs", async (_request, response) => {
    const pages = await Promise.all(names.map((name) => readPage(renderer, `docs/${name}`)));
    const items = pages.map(
      ({ title }, index) =>
        `<li><a href="/docs/${names[index] ?? ""}">${escapeHtml(title)}</a></li>`,
    );
    items.unshift('<li><a href="/README.md">README</a></li>');
    sendPage(response, {
      status: 200,
      title: "Documentation",
      body: `<ul>\n${items.join("\n")}\n</ul>\n<p><a href="/">Start page</a></p>`,
    });
  });
  for (const file of [...names.map((name) => `docs/${name}`), ...rootPages])
    router.get(`/${file}`, async (_request, response) => {
      const { title, body } = await readPage(renderer, file);
      sendPage(response, {
        status: 200,
        title,
        body: `<p><a href="/docs/">All pages</a></p>\n${body}`,
        isLong: true,
      });
    });
  return router;
}

async function loadRenderer(): Promise<MarkdownIt | null> {
  try {
    const { default: Renderer } = await import("markdown-it");
    const renderer = new Renderer();
    renderer.core.ruler.push("heading_ids", ({ tokens }) => {
      for (const [index, token] of tokens.entries())
        if (token.type === "heading_open")
          token.attrSet("id", headingId(tokens[index + 1]?.content ?? ""));
    });
    return renderer;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")
      return null;
    throw error;
  }
}

async function pageNames(): Promise<string[]> {
  try {
    return (await readdir(path.join(root, "docs"))).filter((name) => name.endsWith(".md")).sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

async function readPage(renderer: MarkdownIt, file: string): Promise<DocumentationPage> {
  const text = await readFile(path.join(root, file), "utf8");
  const [, heading, rest] = /^# ([^\n]*)\n(.*)$/s.exec(text) ?? ["", file, text];
  return { title: heading ?? file, body: renderer.render(rest ?? "") };
}

/** The anchor that GitHub gives a heading, which links between pages use. */
function headingId(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");
}
