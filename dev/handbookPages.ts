import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The pages of `docs` that users of the office read, in their order. */
const pages = [
  "console",
  "query-language",
  "absences",
  "bookings",
  "notifications",
  "watches",
  "handbook",
  "exports",
  "scripts",
];

/** SQL that upserts the product's handbook pages from `docs`. The slug of a page is its file's name. */
export async function handbookSql(docs: string): Promise<string> {
  const rows = await Promise.all(
    pages.map(async (slug, position) => {
      const text = await readFile(join(docs, `${slug}.md`), "utf8");
      const [, title = slug, body = ""] = /^# (.+)\n+([^]*)$/.exec(text) ?? [];
      const values = [slug, title, rewriteLinks(body).trimEnd()].map(literal);
      return `  (${[...values, position].join(", ")})`;
    }),
  );
  return `-- The handbook's pages about the product. Written by \`npm run generate\` from docs: change those, not this file.
insert into documentation_pages (slug, title, body, position, is_published, is_built_in)
select slug, title, body, position, true, true
from (values
${rows.join(",\n")}
) as t(slug, title, body, position)
on conflict (slug) do update set title = excluded.title, body = excluded.body, position = excluded.position
where documentation_pages.is_built_in
  and (documentation_pages.title, documentation_pages.body, documentation_pages.position)
    is distinct from (excluded.title, excluded.body, excluded.position);
`;
}

/**
 * Rewrites links to other handbook pages, replaces links to other files by their text, and removes local images.
 */
function rewriteLinks(body: string): string {
  return body
    .replace(/^!\[[^\]]*\]\((?!https?:)[^)]*\)\n*/gm, "")
    .replace(/\[([^\]]*)\]\(([\w.-]+)\.md(#[\w-]*)?\)/g, (_link, text: string, page: string) =>
      pages.includes(page) ? `[${text}](${page})` : text,
    )
    .replace(/\[([^\]]*)\]\((?:\.\.?\/)[^)]*\)/g, "$1");
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
