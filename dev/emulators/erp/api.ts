import { touchOrders } from "./control.ts";
import type { Fault } from "./faults.ts";
import { ApiProblem } from "./problem.ts";
import { project, readQuery, runQuery } from "./query.ts";
import type { Row } from "./table.ts";
import type { World } from "./world.ts";

/** The body of a page of records. */
export interface Page {
  "@odata.context": string;
  value: Row[];
  "@odata.nextLink"?: string;
}

// The documented maximum of the online service (Server-Driven-Paging-in-OData-Web-Services.md).
const maxPageSize = 20_000;

/** Runs a GET of an entity set, as Business Central's API v2.0 does. */
export function readSet(world: World, set: string, url: URL, prefer: string | undefined): Page {
  const table = world.tables[set];
  if (table === undefined)
    throw new ApiProblem(
      404,
      "BadRequest_ResourceNotFound",
      `Resource not found for the segment '${set}'.`,
    );
  const query = readQuery(url.searchParams);
  if (query.lines !== null && set !== "salesOrders")
    throw new ApiProblem(400, "BadRequest", "Could not find the property to expand.");
  const preferred = Number(/odata\.maxpagesize=(\d+)/.exec(prefer ?? "")?.[1] ?? maxPageSize);
  const pageSize = Math.max(1, Math.min(preferred, maxPageSize));
  const { entries, more } = runQuery(table, query, pageSize);
  const page: Page = {
    "@odata.context": `${url.origin}${url.pathname.replace(/companies\(.*$/, "")}$metadata#${set}`,
    value: entries.map((entry) => project(table.show(entry), query)),
  };
  const last = entries.at(-1);
  if (more && last !== undefined) {
    const next = new URL(url);
    next.searchParams.set("$skiptoken", last.key);
    if (url.searchParams.has("$top"))
      next.searchParams.set("$top", String(query.top - entries.length));
    page["@odata.nextLink"] = next.href;
  }
  return page;
}

/** Applies a fault to a page. `previous` is the previous page of the entity set. */
export function applyPageFault(
  world: World,
  page: Page,
  fault: Fault | null,
  { previous, url }: { previous: Page | undefined; url: URL },
): Page {
  switch (fault?.kind) {
    case "duplicate":
      return previous ?? page;
    case "overlap":
      return { ...page, value: [...(previous?.value.slice(-fault.records) ?? []), ...page.value] };
    case "disorder":
      return { ...page, value: page.value.toReversed() };
    case "empty":
      return { ...page, value: [] };
    case "loop":
      return { ...page, "@odata.nextLink": url.href };
    case "link":
      return { ...page, "@odata.nextLink": fault.url };
    case "change": {
      const last = page.value.at(-1)?.["number"];
      if (typeof last === "string") touchOrders(world, { numbers: [last] });
      if (fault.records > 1) touchOrders(world, { count: fault.records - 1 });
      return page;
    }
    default:
      return page;
  }
}
