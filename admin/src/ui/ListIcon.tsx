import type { ReactNode } from "react";
import { SvgPath } from "./icons.tsx";
import { isListIcon, listIconPaths } from "./listIconPaths.ts";

/** The symbol of a list. In a file of its own, because only a navigation with symbols needs it. */
export function ListIcon({ name }: { name: string }): ReactNode {
  return isListIcon(name) ? <SvgPath path={listIconPaths[name]} /> : null;
}
