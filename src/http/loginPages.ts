import type { Response } from "express";
import { isLoginCode } from "../auth/oidc/loginCode.ts";
import type { LoginProvider } from "../settings/oidcProviders.ts";
import { escapeHtml } from "../html/escapeHtml.ts";
import { sendPage } from "./htmlPage.ts";

/** Lets the user choose a provider. */
export function sendProviderChoice(
  response: Response,
  providers: readonly LoginProvider[],
  addressOf: (id: string) => string,
): void {
  const items = providers.map(
    ({ id, name }) =>
      `<li><a href="${escapeHtml(addressOf(id))}">Log in with ${escapeHtml(name)}</a></li>`,
  );
  sendPage(response, { status: 200, title: "Log in", body: `<ul>\n${items.join("\n")}\n</ul>` });
}

/** The page in place of a front end outside production: shows how to exchange the code for a session token. */
export function sendLoginComplete(response: Response, base: string, code: string | null): void {
  if (code === null || !isLoginCode(code))
    return sendPage(response, {
      status: 400,
      title: "There is no login code here",
      body: `<p><a href="${escapeHtml(base)}/auth/login">Log in</a></p>`,
    });
  const mutation = `mutation { exchangeLoginCode(code: "${code}", returnTo: "${base}/auth/done") { token user { id email } } }`;
  const command = `curl ${base}/graphql -H 'content-type: application/json' -d '${JSON.stringify({ query: mutation })}'`;
  sendPage(response, {
    status: 200,
    title: "You are logged in at the identity provider",
    body: [
      "<p>In production the browser would now be at the front end, which exchanges the code in its address for a session token.",
      "By hand it is done with this mutation, once and within 60 seconds:</p>",
      `<pre id="mutation" tabindex="0">${escapeHtml(mutation)}</pre>`,
      "<p>or from a shell:</p>",
      `<pre tabindex="0">${escapeHtml(command)}</pre>`,
    ].join("\n"),
  });
}
