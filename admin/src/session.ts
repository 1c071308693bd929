import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ask } from "./api/ask.ts";
import { metadataDocument } from "./api/documents.ts";
import { ApiError, isUnauthenticated } from "./api/errors.ts";
import { type ConsoleMetadata, Entities, type Me } from "./meta/entities.ts";
import { makeSharedState } from "./sharedState.ts";
import { setLocale } from "./text/locale.ts";

/** `ended`: the session expired or was revoked while a page is open. */
type SessionState = "open" | "ended";

const session = makeSharedState<SessionState>("open");

export const setSession = session.set;
export const useSession = session.use;

function noteError(error: unknown): void {
  if (isUnauthenticated(error)) setSession("ended");
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      // Without metadata no page is open, so the login page is shown instead of the dialog.
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

/** The metadata without the user, whose name can change while the metadata stays the same. */
type CachedMetadata = Omit<ConsoleMetadata, "me"> & { me: Omit<Me, "user"> };

const metadataStorageKey = "console.catalogue";

function readCachedMetadata(): CachedMetadata | null {
  try {
    const text = localStorage.getItem(metadataStorageKey);
    if (text === null) return null;
    const cached = JSON.parse(text) as { build: string; metadata: CachedMetadata };
    // Metadata cached by another build may have another format.
    return cached.build === build ? cached.metadata : null;
  } catch {
    return null;
  }
}

/** The URL of this script, which contains a hash of its content. */
const build = import.meta.url;

/** Fetches the metadata, or uses the cached copy when the service confirms that it is current. */
export async function fetchEntities(signal: AbortSignal): Promise<Entities> {
  const cached = readCachedMetadata();
  const { me, console: fresh } = await ask<{
    me: (Me["user"] & { displayLocale: string; displayTimeZone: string }) | null;
    console: CachedMetadata | null;
  }>(metadataDocument, { ifNot: cached?.version ?? null }, { signal });
  const metadata = fresh ?? cached;
  if (metadata === null || me === null) throw new Error("The service returned no metadata.");
  setLocale(me.displayLocale, me.displayTimeZone);
  if (fresh !== null) cacheMetadata({ build, metadata: fresh });
  return new Entities({ ...metadata, me: { ...metadata.me, user: me } });
}

function cacheMetadata(value: { build: string; metadata: CachedMetadata }): void {
  try {
    localStorage.setItem(metadataStorageKey, JSON.stringify(value));
  } catch {
    // Storage is full or disabled: the next start fetches the metadata again.
  }
}

/** Removes the cached data of the user who logs out. */
export function forgetSession(): void {
  localStorage.removeItem(metadataStorageKey);
  queryClient.clear();
}
