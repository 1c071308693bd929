import { z } from "zod";
import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError } from "../erp.ts";
import type { Transport } from "./transport.ts";

/** A page of an OData response. */
export interface ODataPage {
  value: unknown[];
  /** The link to the next page; null on the last one. */
  nextLink: URL | null;
}

/** Query options of a request, see odata-client-performance.md. */
export interface ODataQuery {
  filter?: string | undefined;
  orderby?: string;
  select?: readonly string[];
  expand?: string;
  top?: number;
}

/** The entity sets of one company. */
export interface Company {
  page(set: string, query: ODataQuery, options: ErpCallOptions): Promise<ODataPage>;
  /** Returns all records of a small set or filter, following `@odata.nextLink`. */
  all(set: string, query: ODataQuery, options: ErpCallOptions): Promise<unknown[]>;
  /** The company record. */
  self(options: ErpCallOptions): Promise<unknown>;
}

const pageAnswer = z.object({
  value: z.array(z.unknown()),
  "@odata.nextLink": z.string().max(20_000).nullish(),
});

// Far more than any set that is read as a whole; stops endless links.
const maxPages = 200;
const pageSizeOfAll = 1_000;
const maxRecordsOfAll = 100_000;

/**
 * The entity sets of one company in Business Central's API v2.0, below `{base}/companies({id})`
 * (endpoints-apis-for-dynamics.md, api-endpoint-structure.md).
 * @param root the company's URL without a trailing slash
 */
export function makeCompany(root: string, transport: Transport): Company {
  const fetchPage = async (
    url: URL,
    options: ErpCallOptions & { pageSize: number },
  ): Promise<ODataPage> => {
    const answer = pageAnswer.safeParse(await transport.get(url, options));
    if (!answer.success) throw new ErpAnswerError("The ERP's response is not a list of records");
    const link = answer.data["@odata.nextLink"];
    return {
      value: answer.data.value,
      nextLink: link == null ? null : requireSameSet(link, url),
    };
  };
  const addressOf = (set: string, query: ODataQuery) => new URL(`${root}/${set}${searchOf(query)}`);

  return {
    page: (set, query, options) =>
      fetchPage(addressOf(set, query), {
        ...options,
        pageSize: query.top ?? pageSizeOfAll,
      }),
    async all(set, query, options) {
      const records: unknown[] = [];
      const seen = new Set<string>();
      let url: URL | null = addressOf(set, query);
      while (url !== null) {
        if (seen.has(url.href) || seen.size >= maxPages)
          throw new ErpAnswerError(`The ERP's pages of ${set} never end`);
        seen.add(url.href);
        const page: ODataPage = await fetchPage(url, { ...options, pageSize: pageSizeOfAll });
        for (const record of page.value) records.push(record);
        if (records.length > maxRecordsOfAll)
          throw new ErpAnswerError(`The ERP has more than ${maxRecordsOfAll} records of ${set}`);
        url = page.nextLink;
      }
      return records;
    },
    self: (options) =>
      transport.get(new URL(`${root}?$select=id,name,displayName`), { ...options, once: true }),
  };
}

/** A link to another entity set or host could leak the token or return wrong records. */
function requireSameSet(link: string, from: URL): URL {
  const url = URL.canParse(link, from.href) ? new URL(link, from.href) : null;
  if (
    url?.origin !== from.origin ||
    url.username !== "" ||
    url.password !== "" ||
    // Business Central changes the case of names in the path.
    decodeURIComponent(url.pathname).toLowerCase() !==
      decodeURIComponent(from.pathname).toLowerCase()
  )
    throw new ErpAnswerError("The ERP's response links to another address");
  url.hash = "";
  return url;
}

function searchOf({ filter, orderby, select, expand, top }: ODataQuery): string {
  const options = {
    $filter: filter,
    $orderby: orderby,
    $select: select?.join(","),
    $expand: expand,
    $top: top?.toString(),
  };
  const parts = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** A string literal for a filter; quotes are doubled (OData 4.0, part 2, 5.1.1.6.1). */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

const lastInstantMs = Date.parse("9999-12-31T23:59:59.999Z");

/** A timestamp literal for a filter, in the form of `dynamics-rate-limits.md`; the year has four digits. */
export function instantLiteral(epochMs: number): string {
  return new Date(Math.min(epochMs, lastInstantMs)).toISOString();
}

/** A filter for a set of values: `or` is allowed for one field only (odata-known-limitations.md). */
export function oneOf(field: string, texts: readonly string[]): string {
  return texts.map((text) => `${field} eq ${textLiteral(text)}`).join(" or ");
}
