import { createHash } from "node:crypto";
import type { Response } from "express";
import { escapeHtml } from "../html/escapeHtml.ts";

const style = `
:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
body { max-width: 38rem; margin: 0 auto; padding: 10vh 1.25rem 2rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
a { color: LinkText; }
a:focus-visible { outline: 3px solid; outline-offset: 3px; }
li { margin: 0.5rem 0; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid; }
.small { font-size: 0.875rem; }
.long { max-width: 60rem; padding-top: 2rem; overflow-wrap: break-word; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: 0.25rem 0.75rem; border: 1px solid GrayText; text-align: start; vertical-align: top; }
`;
const styleHash = createHash("sha256").update(style).digest("base64");
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * Sends a page without scripts or external resources. `body` is HTML, with text escaped; `isLong` is for pages to read:
 * wider, with less space above.
 */
export function sendPage(
  response: Response,
  page: { status: number; title: string; body: string; isLong?: boolean },
): void {
  const title = escapeHtml(page.title);
  response
    .status(page.status)
    .set({
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "Cache-Control": "no-store",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
    })
    .send(
      `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${style}</style>
</head>
<body${page.isLong ? ' class="long"' : ""}>
<main>
<h1>${title}</h1>
${page.body}
</main>
</body>
</html>
`,
    );
}
