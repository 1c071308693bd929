import { Client } from "typesense";
import type { Identity } from "../auth/identity.ts";
import { unavailable } from "../errors/PublicError.ts";
import { SearchEngineError, SearchRefusedError } from "../gateways/search.ts";
import { currentScope } from "../context/requestScope.ts";
import type { FindParentKey } from "./parentKeys.ts";

/** How long a key for a front end lives, in seconds. */
const scopedKeySeconds = 15 * 60;

/** A key with which a front end searches by itself, and its end. */
export interface ScopedKey {
  scopedApiKey: string;
  expiresAt: string;
}

/** What a key is to open. */
export interface ScopedKeyWish {
  tenant: string;
  collections: readonly string[];
  /** Of a collection whose rows show only to those who made them: how many columns say who that is. */
  ownColumns?: number;
  identity: Identity;
}

/** Makes keys. @throws PublicError UNAVAILABLE when the engine would be needed for it and is not there */
export type MakeScopedKey = (wish: ScopedKeyWish) => Promise<ScopedKey>;

/** `findParent` is null where no search engine is configured. */
export function makeScopedKeys(findParent: FindParentKey | null): MakeScopedKey {
  // For its derivation of keys alone: it reaches nobody.
  const keys = new Client({ apiKey: "none", nodes: [{ url: "http://localhost:1" }] }).keys();
  return async ({ tenant, collections, ownColumns = 0, identity }) => {
    if (findParent === null) throw unavailable("No search engine is configured here");
    const parent = await findParent(tenant, collections).catch((error: unknown) => {
      if (!(error instanceof SearchEngineError || error instanceof SearchRefusedError)) throw error;
      currentScope()?.log.warn({ err: error }, "the search engine made no key");
      throw unavailable("The search engine cannot be reached just now");
    });
    // Whole seconds: the engine would take milliseconds for a time that never comes.
    const expires_at = Math.floor(Date.now() / 1000) + scopedKeySeconds;
    return {
      scopedApiKey: keys.generateScopedSearchKey(parent, {
        expires_at,
        ...(ownColumns > 0 && limitsTo(ownerOf(identity, ownColumns))),
      }),
      expiresAt: new Date(expires_at * 1000).toISOString(),
    };
  };
}

/**
 * Parameters that limit a key to one owner's rows. The engine joins the filters of a search and of its key as text, so that a
 * backtick left open in the search would take a plain filter into its value. Here the text in backticks then becomes conditions
 * with a parenthesis that nothing closes, which the engine refuses. Pinned hits would be shown past the filter.
 */
function limitsTo(owner: string) {
  const own = `visibleTo:=${owner}`;
  return {
    filter_by: `${own} && visibleTo:!=\`) && (${own} && visibleTo:!=\``,
    pinned_hits: "",
    exclude_fields: "visibleTo,out_of",
  };
}

/** As `search_owner` in the database writes it. */
function ownerOf({ userId, tokenId }: Identity, columns: number): string {
  return columns > 1 ? `${userId}/${tokenId ?? ""}` : userId;
}
