import { useEffect } from "react";
import { currentPreferences } from "../preferences.ts";
import { en } from "../text/en.ts";

/** All keys of the console, as the dialog of `?` lists them. */
export const keyTable = [
  {
    title: en.keys.everywhere,
    keys: [
      ["Ctrl K", "go to a list, or search"],
      ["?", "this list"],
      ["g then t", "Today"],
      ["g then a letter", "the first list whose title begins so"],
      ["u", "undo a deletion, while the message offers it"],
      ["Esc", "close, one layer"],
    ],
  },
  {
    title: en.keys.list,
    keys: [
      ["/", "the query"],
      ["↑ ↓ or j k", "rows"],
      ["← →", "cells"],
      ["PgUp PgDn Home End", "pages, first and last cell"],
      ["Ctrl Home, Ctrl End", "first and last row"],
      ["Enter", "open the row"],
      ["Space", "look at the row in a drawer"],
      ["x, Shift ↑ ↓, Ctrl A", "select rows"],
      ["s", "sort by the cell's column"],
      ["n", "new row"],
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
      ["[ ]", "row before, row after"],
      ["y", "copy the link"],
    ],
  },
] as const satisfies readonly { title: string; keys: readonly (readonly [string, string])[] }[];

/** Whether the key goes into a field. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}

/** Name of a pressed key: `Mod+k` for Ctrl or ⌘, else the character. */
export function keyName(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "Mod+" : "";
  return `${mod}${event.key.length === 1 ? event.key.toLowerCase() : event.key}`;
}

/** A handler that returns false leaves the key to others. */
type Handlers = Record<string, (event: KeyboardEvent) => unknown>;

/** Handles keys of the whole page. Those without Ctrl count only outside of fields, and can be switched off (WCAG 2.1.4). */
export function useKeys(handlers: Handlers): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const name = keyName(event);
      const handler = handlers[name];
      if (!handler) return;
      const isPlain = !name.startsWith("Mod+") && (name.length === 1 || name === "Delete");
      if (isPlain && (isTyping(event.target) || !currentPreferences().singleKeys)) return;
      // A dialog above the page takes the keys.
      if (isPlain && document.querySelector("[role=dialog], [role=alertdialog]")) return;
      if (handler(event) !== false) event.preventDefault();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, [handlers]);
}
