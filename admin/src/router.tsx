import { createRootRoute, createRoute, createRouter } from "@tanstack/react-router";
import { Frame } from "./frame/Frame.tsx";
import { ListPage } from "./generic/list/ListPage.tsx";
import type { ListSearch } from "./generic/list/listSearch.ts";
import { CrashPage, NoPage, lazyPage } from "./ui/CrashPage.tsx";
import { TodayPage } from "./pages/TodayPage.tsx";

export interface RecordSearch {
  tab?: string;
  open?: string;
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function only<K extends string>(keys: readonly K[], search: Record<string, unknown>) {
  const found: { [key in K]?: string } = {};
  for (const key of keys) {
    const value = text(search[key]);
    if (value !== undefined) found[key] = value;
  }
  return found;
}

const root = createRootRoute({ component: Frame });

const today = createRoute({ getParentRoute: () => root, path: "/", component: TodayPage });

export const listRoute = createRoute({
  getParentRoute: () => root,
  path: "$entity",
  component: ListPage,
  validateSearch: (search: Record<string, unknown>): ListSearch => ({
    ...only(["q", "order", "cols", "view", "open"], search),
    ...(search["q"] === "" && { q: "" }),
  }),
});

export const newRoute = createRoute({
  getParentRoute: () => root,
  path: "$entity/new",
  // Initial values of the new row's fields, such as its parent row.
  validateSearch: (search: Record<string, unknown>): Record<string, string | undefined> =>
    only(Object.keys(search), search),
  component: lazyPage(async () => (await import("./generic/record/NewPage.tsx")).NewPage),
});

export const recordRoute = createRoute({
  getParentRoute: () => root,
  path: "$entity/$id",
  validateSearch: (search: Record<string, unknown>): RecordSearch => only(["tab", "open"], search),
  component: lazyPage(async () => (await import("./generic/record/RecordPage.tsx")).RecordPage),
});

const reportRoute = createRoute({
  getParentRoute: () => root,
  // No list has this name, because names of lists are plural.
  path: "report/$report",
  // The values of the arguments.
  validateSearch: (search: Record<string, unknown>): Record<string, string | undefined> =>
    only(Object.keys(search), search),
  component: lazyPage(async () => (await import("./generic/report/ReportPage.tsx")).ReportPage),
});

const handbookRoute = createRoute({
  getParentRoute: () => root,
  path: "handbook/$slug",
  component: lazyPage(async () => (await import("./pages/HandbookPage.tsx")).HandbookPage),
});

/** Parses and writes search parameters as plain strings; the router's default is JSON. */
function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(search))
    // An empty query opens a list with all rows instead of its default query.
    if (typeof value === "string" && (value !== "" || key === "q")) parameters.set(key, value);
  // Colons and commas need no encoding and keep queries readable.
  const query = parameters.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return query === "" ? "" : `?${query}`;
}

export const router = createRouter({
  routeTree: root.addChildren([
    today,
    listRoute,
    newRoute,
    recordRoute,
    reportRoute,
    handbookRoute,
  ]),
  basepath: "/admin",
  defaultPreload: "intent",
  defaultErrorComponent: CrashPage,
  defaultNotFoundComponent: NoPage,
  parseSearch,
  stringifySearch,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
