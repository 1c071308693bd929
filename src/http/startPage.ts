import { Router } from "express";
import { escapeHtml } from "../html/escapeHtml.ts";
import { sendPage } from "./htmlPage.ts";

/** What the server offers in a browser. */
export interface StartPageOptions {
  playground: boolean;
  documentation: boolean;
  login: boolean;
}

/** `GET /`: a page with links to everything that a browser can open. */
export function startPage({ playground, documentation, login }: StartPageOptions): Router {
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
  const items = links.map(
    ([href = "", name = "", what = ""]) =>
      `<li><a href="${escapeHtml(href)}">${escapeHtml(name)}</a>: ${escapeHtml(what)}</li>`,
  );
  const body = [
    "<p>The service is running. Programs send GraphQL operations by <code>POST /graphql</code>.</p>",
    `<ul>\n${items.join("\n")}\n</ul>`,
  ].join("\n");

  const router = Router();
  router.get("/", (_request, response) => {
    sendPage(response, { status: 200, title: "Back office", body });
  });
  return router;
}
