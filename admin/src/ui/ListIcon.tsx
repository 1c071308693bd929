import type { ReactNode } from "react";
import { SvgPath } from "./icons.tsx";
import { isListIcon, listIconPaths } from "./listIconPaths.ts";

/** The icon of a list in the navigation. Loaded only if a list has one. */
export function ListIcon({ name }: { name: string }): ReactNode {
  return isListIcon(name) ? <SvgPath path={listIconPaths[name]} /> : null;
}
