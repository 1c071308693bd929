import { type ReactNode, useSyncExternalStore } from "react";

let shown: ReactNode = null;
const listeners = new Set<() => void>();

/** Shows a dialog that stays when the page below it changes; null closes it. */
export function showTopDialog(dialog: ReactNode): void {
  shown = dialog;
  for (const listener of listeners) listener();
}

export function TopDialog(): ReactNode {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => shown,
  );
}
