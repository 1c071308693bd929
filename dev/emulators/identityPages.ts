import type { IncomingMessage, ServerResponse } from "node:http";
import { escapeHtml } from "../../src/html/escapeHtml.ts";

/** The fields of the login form. */
export interface LoginForm {
  email: string;
  name: string;
  verified: boolean;
}

const maxFormBytes = 10_000;

/** Reads the posted form; null without a valid address. @throws when it is too large */
export async function readLoginForm(
  request: IncomingMessage,
): Promise<LoginForm | "cancel" | null> {
  let text = "";
  for await (const chunk of request as AsyncIterable<Buffer>) {
    text += chunk.toString("latin1");
    if (text.length > maxFormBytes) throw new Error("The form is too large");
  }
  const form = new URLSearchParams(text);
  if (form.get("action") === "cancel") return "cancel";
  const email = (form.get("email") ?? "").trim();
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) return null;
  return { email, name: (form.get("name") ?? "").trim(), verified: form.get("verified") !== null };
}

export function sendLoginForm(response: ServerResponse, problem?: string): void {
  const alert = problem === undefined ? "" : `<p role="alert">${escapeHtml(problem)}</p>`;
  send(
    response,
    problem === undefined ? 200 : 422,
    "Log in as anyone",
    `<p>This identity provider is for development only: it asks for no password and accepts any address.</p>
${alert}
<form method="post">
<p><label>E-mail address<br><input name="email" type="email" required autofocus autocomplete="email" size="40"></label></p>
<p><label>Name (may stay empty)<br><input name="name" autocomplete="name" size="40" maxlength="120"></label></p>
<p><label><input name="verified" type="checkbox" checked> The provider has verified the address</label></p>
<p><button name="action" value="login">Log in</button> <button name="action" value="cancel" formnovalidate>Cancel</button></p>
</form>`,
  );
}

export function sendErrorPage(response: ServerResponse, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  send(response, 400, "The login failed", `<p role="alert">${escapeHtml(message)}</p>`);
}

function send(response: ServerResponse, status: number, title: string, body: string): void {
  response.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    // No `form-action`: browsers apply it to the redirect back to the service, and would block it.
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  });
  response.end(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`);
}
