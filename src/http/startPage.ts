import { Router } from "express";
import { escapeHtml } from "../html/escapeHtml.ts";
import { sendPage } from "./htmlPage.ts";

/** The pages of the server for browsers. */
export interface StartPageOptions {
  isConsoleBuilt: () => boolean;
  /** Whether browsers are redirected to the console, if it is built. */
  redirects: boolean;
  playground: boolean;
  documentation: boolean;
  login: boolean;
}

const consoleLink = ["/admin", "Console", "work with the data in the browser"];

/** `GET /`: redirects to the console, or shows a page with links to everything that a browser can open. */
export function startPage(options: StartPageOptions): Router {
  const { isConsoleBuilt, redirects, playground, documentation, login } = options;
  const links = [
    ...(playground
      ? [
          [
            "/graphql",
            "Playground",
            "write and run GraphQL operations, with the API's documentation",
          ],
        ]
      : []),
    ...(login ? [["/auth/login", "Log in", "through the identity provider"]] : []),
    ...(documentation
      ? [["/docs/", "Documentation", "pages for staff, script authors, DBAs and operators"]]
      : []),
    ["/readyz", "Health", "whether the service can answer, its database included"],
  ];
  const pageWith = (shown: string[][]) => {
    const items = shown.map(
      ([href = "", name = "", what = ""]) =>
        `<li><a href="${escapeHtml(href)}">${escapeHtml(name)}</a>: ${escapeHtml(what)}</li>`,
    );
    return [
      "<p>The service is running. Programs send GraphQL operations by <code>POST /graphql</code>.</p>",
      `<ul>\n${items.join("\n")}\n</ul>`,
    ].join("\n");
  };

  const router = Router();
  router.get("/", (_request, response) => {
    if (isConsoleBuilt() && redirects) {
      response.redirect(302, "/admin");
      return;
    }
    const body = pageWith(isConsoleBuilt() ? [consoleLink, ...links] : links);
    sendPage(response, { status: 200, title: "Back office", body });
  });
  return router;
}
