import { Client } from "typesense";
import type { Identity } from "../auth/identity.ts";
import { unavailable } from "../errors/PublicError.ts";
import { SearchEngineError, SearchRefusedError } from "../gateways/search.ts";
import { currentScope } from "../context/requestScope.ts";
import type { FindParentKey } from "./parentKeys.ts";

const scopedKeySeconds = 15 * 60;

/** A search key for a browser, with its expiry. */
export interface ScopedKey {
  scopedApiKey: string;
  expiresAt: string;
}

/** The collections and rows that a scoped key gives access to. */
export interface ScopedKeyRequest {
  tenant: string;
  collections: readonly string[];
  /** For collections whose rows only their owner sees: the number of columns that identify the owner. */
  ownerColumns?: number;
  identity: Identity;
}

/**
 * Creates scoped keys.
 * @throws PublicError UNAVAILABLE when the engine is needed and unreachable
 */
export type MakeScopedKey = (wish: ScopedKeyRequest) => Promise<ScopedKey>;

/** `findParent` is null when no search engine is configured. */
export function makeScopedKeys(findParent: FindParentKey | null): MakeScopedKey {
  // Used only to derive keys; it sends no requests.
  const keys = new Client({ apiKey: "none", nodes: [{ url: "http://localhost:1" }] }).keys();
  return async ({ tenant, collections, ownerColumns: ownerColumns = 0, identity }) => {
    if (findParent === null) throw unavailable("No search engine is configured");
    const parent = await findParent(tenant, collections).catch((error: unknown) => {
      if (!(error instanceof SearchEngineError || error instanceof SearchRefusedError)) throw error;
      currentScope()?.log.warn({ err: error }, "search key creation failed");
      throw unavailable("The search engine cannot be reached");
    });
    // In whole seconds: the engine would read milliseconds as a date in the far future.
    const expires_at = Math.floor(Date.now() / 1000) + scopedKeySeconds;
    return {
      scopedApiKey: keys.generateScopedSearchKey(parent, {
        expires_at,
        ...(ownerColumns > 0 && ownerRestriction(searchOwner(identity, ownerColumns))),
      }),
      expiresAt: new Date(expires_at * 1000).toISOString(),
    };
  };
}

/**
 * Parameters that restrict a key to one owner's rows. The engine concatenates the filters of search and key as text, so
 * an unclosed backtick in the search could swallow a plain filter. With this form the swallowed text becomes conditions
 * with an unclosed parenthesis, which the engine rejects. Pinned hits are disabled because they bypass filters.
 */
function ownerRestriction(owner: string) {
  const own = `visibleTo:=${owner}`;
  return {
    filter_by: `${own} && visibleTo:!=\`) && (${own} && visibleTo:!=\``,
    pinned_hits: "",
    exclude_fields: "visibleTo,out_of",
  };
}

/** The same format as the SQL function `search_owner`. */
function searchOwner({ userId, tokenId }: Identity, columns: number): string {
  return columns > 1 ? `${userId}/${tokenId ?? ""}` : userId;
}
