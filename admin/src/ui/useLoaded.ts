import { useEffect, useState } from "react";
import { en } from "../text/en.ts";
import { showToast } from "./Toasts.tsx";

/**
 * A component of a script that is loaded when it is wanted; null until then. Unlike `React.lazy` it shows as soon as it is there:
 * React holds content that was suspended back for 300 ms. While the server is away a message says so, and the page stays.
 */
export function useLoaded<Component>(
  load: () => Promise<Component>,
  isWanted: boolean,
): Component | null {
  const [loaded, setLoaded] = useState<{ component: Component } | null>(null);
  useEffect(() => {
    if (!isWanted || loaded) return undefined;
    let isCurrent = true;
    load().then(
      (component) => {
        if (isCurrent) setLoaded({ component });
      },
      () => showToast(en.frame.away),
    );
    return () => {
      isCurrent = false;
    };
  }, [load, isWanted, loaded]);
  return loaded?.component ?? null;
}
