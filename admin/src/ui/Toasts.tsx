import { type ReactNode, useMemo } from "react";
import { Button } from "react-aria-components";
import { makeSharedState } from "../sharedState.ts";
import { en } from "../text/en.ts";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "bad";
  action?: { label: string; run: () => void };
}

const toasts = makeSharedState<readonly Toast[]>([]);
let lastId = 0;

export function dismissToast(id: number): void {
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
}

/** Shows a message and returns its id. A message without an action disappears after some seconds. */
export function showToast(
  text: string,
  options: { tone?: Toast["tone"]; action?: Toast["action"]; ms?: number } = {},
): number {
  const { tone = "plain", action, ms = tone === "bad" ? 12_000 : 6_000 } = options;
  lastId += 1;
  const id = lastId;
  toasts.set([...toasts.get(), { id, text, tone, ...(action === undefined ? {} : { action }) }]);
  setTimeout(() => dismissToast(id), ms);
  return id;
}

/** Runs the action of the newest message, such as Undo; false when no message has an action. */
function runNewestAction(): boolean {
  const offer = toasts.get().findLast(({ action }) => action);
  if (!offer?.action) return false;
  dismissToast(offer.id);
  offer.action.run();
  return true;
}

export function Toasts(): ReactNode {
  useKeys(useMemo(() => ({ u: runNewestAction }), []));
  const shown = toasts.use();
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
