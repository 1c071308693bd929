import { type RefObject, createContext, useContext, useLayoutEffect } from "react";
import { currentPreferences } from "../preferences.ts";
import { en } from "../text/en.ts";

/** All keyboard shortcuts, as the dialog of `?` lists them. */
export const keyTable = [
  {
    title: en.keys.everywhere,
    keys: [
      ["Ctrl K", "go to a list, or search"],
      ["?", "this list"],
      ["g then t", "Today"],
      ["g then a letter", "the first list whose title begins so"],
      ["u", "undo a deletion or a change of selected rows, while the message offers it"],
      ["Esc", "close, one layer"],
    ],
  },
  {
    title: en.keys.list,
    keys: [
      ["/", "the query"],
      ["↑ ↓ or j k", "rows, and above the first the titles, where Enter sorts"],
      ["← →", "cells"],
      ["Shift ← →", "at a title: the width of its column"],
      ["PgUp PgDn Home End", "pages, first and last cell"],
      ["Ctrl Home, Ctrl End", "first and last row"],
      ["Enter", "open the row"],
      ["Space", "look at the row in a drawer; select it in the first column"],
      ["x, Shift ↑ ↓, Ctrl A", "select rows"],
      ["e", "edit the selected rows; u takes it back"],
      [".", "actions of the selected rows, or of the list"],
      ["Delete", "delete the selected rows; u takes it back"],
      ["s", "sort by the cell's column"],
      ["n", "new row"],
      ["v", "saved views"],
      ["y", "copy the link"],
    ],
  },
  {
    title: en.keys.record,
    keys: [
      ["Ctrl S", "save"],
      ["e", "edit: go to the first field"],
      ["h", "history"],
      [".", "actions of the row, such as activating a user"],
      ["Delete", "delete the row; u takes it back"],
      ["[ ]", "row before, row after, also in a drawer"],
      ["y", "copy the link"],
    ],
  },
] as const satisfies readonly { title: string; keys: readonly (readonly [string, string])[] }[];

/** Whether the key press is input to a field. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** The name of a pressed key: `Mod+k` with Ctrl or ⌘, otherwise the character. */
export function keyName(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "Mod+" : "";
  return `${mod}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
}

/** A handler returns false when it did not handle the key. */
type Handlers = Record<string, (event: KeyboardEvent) => unknown>;

/** The dialog that contains a component; null on the page. Only the topmost dialog receives keys. */
export const KeyLayer = createContext<RefObject<HTMLElement | null> | null>(null);

/** The topmost dialog: the last one in the document. */
function topDialog(): Element | null {
  return [...document.querySelectorAll("[role=dialog], [role=alertdialog]")].at(-1) ?? null;
}

let isPaused = false;

/** Disables the shortcuts of pages and drawers while a dialog opens and is open. */
export function pauseKeys(paused: boolean): void {
  isPaused = paused;
}

/**
 * Handles the shortcuts of the page or drawer that contains the component, while that is the topmost layer; with
 * `anywhere`, also below dialogs. Shortcuts without Ctrl are ignored in fields and can be disabled (WCAG 2.1.4).
 */
export function useKeys(handlers: Handlers, anywhere = false): void {
  const layer = useContext(KeyLayer);
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const name = keyName(event);
      const handler = handlers[name];
      if (!handler) return;
      const isPlain = !name.startsWith("Mod+") && (name.length === 1 || name === "Delete");
      if (isPlain && (isTyping(event.target) || !currentPreferences().singleKeys)) return;
      if (!anywhere && (isPaused || topDialog() !== (layer?.current ?? null))) return;
      if (handler(event) !== false) event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [handlers, layer, anywhere]);
}
