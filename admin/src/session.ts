import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ask } from "./api/ask.ts";
import { catalogueDocument } from "./api/documents.ts";
import { ApiError, isUnauthenticated } from "./api/errors.ts";
import { type Catalogue, Entities } from "./meta/catalogue.ts";
import { setLocale } from "./text/locale.ts";

/** `ended`: the session expired or was revoked while a page is open. */
type SessionState = "open" | "ended";

let state: SessionState = "open";
const listeners = new Set<() => void>();

export function setSession(next: SessionState): void {
  if (next === state) return;
  state = next;
  for (const listener of listeners) listener();
}

export function useSession(): SessionState {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => state,
  );
}

function noteError(error: unknown): void {
  if (isUnauthenticated(error)) setSession("ended");
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // Without a catalogue no page is open, so the login page is shown instead of the dialog.
      if (query.queryKey[0] !== "console") noteError(error);
    },
    onSuccess: (_data, query) => {
      if (query.queryKey[0] === "console") setSession("open");
    },
  }),
  mutationCache: new MutationCache({ onError: noteError }),
  defaultOptions: {
    queries: {
      // By default the library pauses requests while the browser reports being offline, and shows no error.
      networkMode: "always",
      staleTime: 30_000,
      refetchOnWindowFocus: true,
      // An ApiError is a response; only requests without a response are retried.
      retry: (count, error) => !(error instanceof ApiError) && count < 2,
    },
    mutations: { retry: false, networkMode: "always" },
  },
});

const catalogueKey = "console.catalogue";

function keptCatalogue(): Catalogue | null {
  try {
    const text = localStorage.getItem(catalogueKey);
    if (text === null) return null;
    const kept = JSON.parse(text) as { build: string; catalogue: Catalogue };
    // A catalogue cached by another build may have another format.
    return kept.build === build ? kept.catalogue : null;
  } catch {
    return null;
  }
}

/** The URL of this script, which contains a hash of its content. */
const build = import.meta.url;

/** Fetches the catalogue, or uses the cached one when the service confirms that it is current. */
export async function fetchEntities(signal: AbortSignal): Promise<Entities> {
  const kept = keptCatalogue();
  const { me, console: fresh } = await ask<{
    me: { displayLocale: string } | null;
    console: Catalogue | null;
  }>(catalogueDocument, { ifNot: kept?.version ?? null }, { signal });
  const catalogue = fresh ?? kept;
  if (me !== null) setLocale(me.displayLocale);
  if (catalogue === null) throw new Error("The service gave no catalogue.");
  if (fresh !== null) keep({ build, catalogue: fresh });
  return new Entities(catalogue);
}

function keep(value: { build: string; catalogue: Catalogue }): void {
  try {
    localStorage.setItem(catalogueKey, JSON.stringify(value));
  } catch {
    // Storage is full or disabled: the next start fetches the whole catalogue.
  }
}

/** Removes the cached data of the user who logs out. */
export function forgetSession(): void {
  localStorage.removeItem(catalogueKey);
  queryClient.clear();
}
