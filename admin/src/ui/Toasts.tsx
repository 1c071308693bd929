import { type ReactNode, useMemo, useRef } from "react";
import { Button } from "react-aria-components";
import { makeSharedState } from "../sharedState.ts";
import { en } from "../text/en.ts";
import { Icon } from "./icons.tsx";
import { useKeys } from "./keys.ts";

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "bad";
  action?: ToastAction;
}

interface ToastAction {
  label: string;
  run: () => void;
  /** Whether the key `u` runs the action. */
  isUndo?: boolean;
}

interface ToastTimer {
  ms: number;
  /** Called when the message disappears without its action. */
  onEnd: () => void;
  timer: ReturnType<typeof setTimeout>;
}

const toasts = makeSharedState<readonly Toast[]>([]);
const timers = new Map<number, ToastTimer>();
let lastId = 0;
/** While the pointer or the focus is in the messages, none disappears. */
let isHeld = false;

function removeToast(id: number): void {
  clearTimeout(timers.get(id)?.timer);
  timers.delete(id);
  toasts.set(toasts.get().filter((toast) => toast.id !== id));
  // Browsers report neither the pointer nor the focus as gone with a removed element.
  hold(false);
}

/** Removes a message. What was to happen at its end happens now. */
function dismissToast(id: number): void {
  const found = timers.get(id);
  removeToast(id);
  found?.onEnd();
}

function hold(held: boolean): void {
  if (isHeld === held) return;
  isHeld = held;
  for (const [id, found] of timers) {
    clearTimeout(found.timer);
    if (!held) found.timer = setTimeout(() => dismissToast(id), found.ms);
  }
}

/** Shows a message. It disappears after some seconds, and `onEnd` is called unless its action ran. */
export function showToast(
  text: string,
  options: {
    tone?: Toast["tone"];
    action?: ToastAction;
    ms?: number;
    onEnd?: () => void;
  } = {},
): void {
  const { tone = "plain", action, ms = tone === "bad" ? 12_000 : 6_000 } = options;
  const { onEnd = () => undefined } = options;
  lastId += 1;
  const id = lastId;
  toasts.set([...toasts.get(), { id, text, tone, ...(action === undefined ? {} : { action }) }]);
  const timer = setTimeout(() => dismissToast(id), ms);
  if (isHeld) clearTimeout(timer);
  timers.set(id, { ms, onEnd, timer });
}

function runAction({ id, action }: Toast): void {
  removeToast(id);
  action?.run();
}

/** Undoes what the newest message offers to undo; false when none does. */
function undoNewest(): boolean {
  const offer = toasts.get().findLast(({ action }) => action?.isUndo);
  if (offer) runAction(offer);
  return offer !== undefined;
}

/** Messages in a corner, above dialogs: they can be read, heard and used while one is open. */
export function Toasts(): ReactNode {
  useKeys(
    useMemo(() => ({ u: undoNewest }), []),
    true,
  );
  const shown = toasts.use();
  // The element that had the focus before a button here, and gets it back when the button disappears.
  const before = useRef<Element | null>(null);
  const leave = (act: () => void) => {
    act();
    if (before.current instanceof HTMLElement && before.current.isConnected) before.current.focus();
  };
  return (
    <div
      className="toasts"
      role="status"
      aria-live="polite"
      aria-atomic="false"
      data-react-aria-top-layer="true"
      onPointerEnter={() => hold(true)}
      onPointerLeave={() => hold(false)}
      onFocus={({ currentTarget, relatedTarget }) => {
        hold(true);
        if (!currentTarget.contains(relatedTarget)) before.current = relatedTarget;
      }}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) hold(false);
      }}
    >
      {shown.map((toast) => (
        <div key={toast.id} className={`toast toast-${toast.tone}`}>
          <span>{toast.text}</span>
          {toast.action && (
            <Button
              className="button"
              {...(toast.action.isUndo && { "aria-keyshortcuts": "u" })}
              onPress={() => leave(() => runAction(toast))}
            >
              {toast.action.label}
            </Button>
          )}
          <Button
            className="button button-quiet icon-button"
            aria-label={en.close}
            onPress={() => leave(() => dismissToast(toast.id))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
    </div>
  );
}
