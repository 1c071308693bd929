import { type ReactNode, useMemo, useSyncExternalStore } from "react";
import { Button } from "react-aria-components";
import { en } from "../text/en.ts";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "bad";
  action?: { label: string; run: () => void };
}

let toasts: readonly Toast[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function setToasts(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function dismissToast(id: number): void {
  setToasts(toasts.filter((toast) => toast.id !== id));
}

/** Shows a message and returns its id. A message without an action disappears after some seconds. */
export function showToast(
  text: string,
  options: { tone?: Toast["tone"]; action?: Toast["action"]; ms?: number } = {},
): number {
  const { tone = "plain", action, ms = tone === "bad" ? 12_000 : 6_000 } = options;
  lastId += 1;
  const id = lastId;
  setToasts([...toasts, { id, text, tone, ...(action === undefined ? {} : { action }) }]);
  setTimeout(() => dismissToast(id), ms);
  return id;
}

/** Runs the action of the newest message, such as Undo; false when no message has an action. */
function runNewestAction(): boolean {
  const offer = toasts.findLast(({ action }) => action);
  if (!offer?.action) return false;
  dismissToast(offer.id);
  offer.action.run();
  return true;
}

export function Toasts(): ReactNode {
  useKeys(useMemo(() => ({ u: runNewestAction }), []));
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, tone, action }) => (
        <div key={id} className={`toast toast-${tone}`}>
          <span>{text}</span>
          {action && (
            <Button
              className="button"
              onPress={() => {
                dismissToast(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <Button
            className="button button-quiet icon-button"
            aria-label={en.close}
            onPress={() => dismissToast(id)}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  );
}
