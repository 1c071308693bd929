import { z } from "zod";
import type { ErpCallOptions } from "../erp.ts";
import { ErpAnswerError } from "../erp.ts";
import type { Transport } from "./transport.ts";

/** A page of an OData answer. */
export interface ODataPage {
  value: unknown[];
  /** Where the rest is, as the ERP says; null when this is all. */
  nextLink: URL | null;
}

/** Query options of a request; those of documents such as odata-client-performance.md. */
export interface ODataQuery {
  filter?: string | undefined;
  orderby?: string;
  select?: readonly string[];
  expand?: string;
  top?: number;
}

/** One company's entity sets. */
export interface Company {
  page(set: string, query: ODataQuery, options: ErpCallOptions): Promise<ODataPage>;
  /** All records of a set or filter that is known to be small, page by page along `@odata.nextLink`. */
  all(set: string, query: ODataQuery, options: ErpCallOptions): Promise<unknown[]>;
  /** The company itself. */
  self(options: ErpCallOptions): Promise<unknown>;
}

const pageAnswer = z.object({
  value: z.array(z.unknown()),
  "@odata.nextLink": z.string().max(20_000).nullish(),
});

// What is read whole has far fewer; an ERP that links on for ever is stopped here.
const mostPages = 200;
const pageSizeOfAll = 1_000;

/**
 * The entity sets of one company of Business Central's API v2.0, beneath `{base}/companies({id})`
 * (endpoints-apis-for-dynamics.md, api-endpoint-structure.md).
 * @param root the company's address, without a slash at its end
 */
export function makeCompany(root: string, transport: Transport): Company {
  const fetchPage = async (
    url: URL,
    options: ErpCallOptions & { pageSize: number },
  ): Promise<ODataPage> => {
    const answer = pageAnswer.safeParse(await transport.get(url, options));
    if (!answer.success) throw new ErpAnswerError("The ERP's answer is no list of records");
    const link = answer.data["@odata.nextLink"];
    return {
      value: answer.data.value,
      nextLink: link == null ? null : sameSet(link, url),
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
        if (seen.has(url.href) || seen.size >= mostPages)
          throw new ErpAnswerError(`The ERP's pages of ${set} do not end`);
        seen.add(url.href);
        const page: ODataPage = await fetchPage(url, { ...options, pageSize: pageSizeOfAll });
        for (const record of page.value) records.push(record);
        url = page.nextLink;
      }
      return records;
    },
    self: (options) =>
      transport.get(new URL(`${root}?$select=id,name,displayName`), { ...options, once: true }),
  };
}

/** A link that leads anywhere but to the same entity set would carry our token there, or other records here. */
function sameSet(link: string, from: URL): URL {
  const url = URL.canParse(link, from.href) ? new URL(link, from.href) : null;
  if (
    url?.origin !== from.origin ||
    url.username !== "" ||
    url.password !== "" ||
    // Business Central writes the path's names in the letters that it knows them by.
    decodeURIComponent(url.pathname).toLowerCase() !==
      decodeURIComponent(from.pathname).toLowerCase()
  )
    throw new ErpAnswerError("The ERP's answer links to another place than the one asked");
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

/** A text in a filter; quotes within are doubled (OData 4.0, part 2, 5.1.1.6.1). */
export function textLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** An instant in a filter, as `dynamics-rate-limits.md` writes it. */
export function instantLiteral(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** "The field is one of these": one field may be compared by `or`, different ones may not (odata-known-limitations.md). */
export function oneOf(field: string, texts: readonly string[]): string {
  return texts.map((text) => `${field} eq ${textLiteral(text)}`).join(" or ");
}
