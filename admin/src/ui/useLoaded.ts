import { useEffect, useState } from "react";
import { en } from "../text/en.ts";
import { showToast } from "./Toasts.tsx";

/**
 * Loads a component's script on demand; null until it is loaded. `React.lazy` is not used because React shows suspended
 * content up to 300 ms late. When loading fails, a message is shown and the page stays.
 */
export function useLoaded<Component>(
  load: () => Promise<Component>,
  isEnabled: boolean,
): Component | null {
  const [loaded, setLoaded] = useState<{ component: Component } | null>(null);
  useEffect(() => {
    if (!isEnabled || loaded) return undefined;
    let isCurrent = true;
    load().then(
      (component) => {
        if (isCurrent) setLoaded({ component });
      },
      () =>
        showToast(en.crash.partNotLoaded, {
          tone: "bad",
          action: { label: en.crash.reload, run: () => location.reload() },
        }),
    );
    return () => {
      isCurrent = false;
    };
  }, [load, isEnabled, loaded]);
  return loaded?.component ?? null;
}
