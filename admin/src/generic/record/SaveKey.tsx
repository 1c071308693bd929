import { useMemo } from "react";
import { useKeys } from "../../ui/keys.ts";

/** The shortcut Ctrl S, rendered inside a drawer, so that it works while the drawer is the topmost one. */
export function SaveKey({ onSave }: { onSave: () => void }): null {
  useKeys(useMemo(() => ({ "Mod+s": () => onSave() }), [onSave]));
  return null;
}
