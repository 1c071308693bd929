import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { Button } from "react-aria-components";
import { ask } from "../api/ask.ts";
import { en } from "../text/en.ts";
import { useLoaded } from "./useLoaded.ts";

interface CrashPageProps {
  error: unknown;
  /** Renders the failed part again. */
  reset: () => void;
}

const loadCrashDetails = async () => (await import("./CrashDetails.tsx")).CrashDetails;

/** Shown in place of a page whose component failed. */
export function CrashPage({ error, reset }: CrashPageProps): ReactNode {
  const CrashDetails = useLoaded(loadCrashDetails, true);
  return (
    <Trouble title={en.crash.title} hint={en.crash.hint} onRetry={reset}>
      {CrashDetails && <CrashDetails error={error} />}
    </Trouble>
  );
}

export function NoPage(): ReactNode {
  return <Trouble title={en.crash.noPage} hint={en.list.unknownHint} />;
}

interface TroubleProps {
  title: string;
  hint: string;
  onRetry?: () => void;
  children?: ReactNode;
}

/** Does not use the frame or the metadata, which may have caused the failure. */
function Trouble({ title, hint, onRetry, children }: TroubleProps): ReactNode {
  return (
    <main className="page-body" id="content" tabIndex={-1}>
      <div className="empty" role="alert">
        <h1>{title}</h1>
        <p>{hint}</p>
        <div className="actions">
          {onRetry && (
            <Button className="button button-primary" onPress={onRetry}>
              {en.again}
            </Button>
          )}
          {children}
          <a className="button" href="/admin/">
            {en.crash.today}
          </a>
        </div>
      </div>
    </main>
  );
}

const reloadedKey = "console.reloaded";

/**
 * Loads the console again when the server responds and the page is still shown, but not a second time for the same
 * address; returns whether it does.
 * Browsers do not request a script again that failed to load, for example in a short outage or because a new version
 * replaced it.
 */
async function reloadOnce(isShown: () => boolean): Promise<boolean> {
  try {
    await ask("{ __typename }");
    if (!isShown() || sessionStorage.getItem(reloadedKey) === location.href) return false;
    sessionStorage.setItem(reloadedKey, location.href);
  } catch {
    // There is no response, or the browser stores nothing.
    return false;
  }
  location.reload();
  return true;
}

/** Allows the next failure to load the console again. */
function forgetReload(): void {
  try {
    sessionStorage.removeItem(reloadedKey);
  } catch {
    // The browser stores nothing.
  }
}

/** A page whose script is loaded when it opens. The router loads it before it shows the page. */
export function lazyPage(load: () => Promise<ComponentType>) {
  let loaded: ComponentType | null = null;
  const preload = async () => {
    loaded = await load();
  };
  function LazyPage(): ReactNode {
    const [state, setState] = useState({ Page: loaded, hasFailed: false });
    const { Page, hasFailed } = state;
    useEffect(() => {
      if (Page) {
        forgetReload();
        return undefined;
      }
      let isShown = true;
      preload().then(
        () => setState({ Page: loaded, hasFailed: false }),
        async () => {
          if (!(await reloadOnce(() => isShown))) setState({ Page: null, hasFailed: true });
        },
      );
      return () => {
        isShown = false;
      };
    }, [Page]);
    if (hasFailed)
      return (
        <Trouble title={en.crash.notLoaded} hint={en.crash.notLoadedHint}>
          <Button className="button button-primary" onPress={() => location.reload()}>
            {en.crash.reload}
          </Button>
        </Trouble>
      );
    return Page && <Page />;
  }
  // The page shows a failure.
  LazyPage.preload = () => preload().catch(() => undefined);
  return LazyPage;
}
