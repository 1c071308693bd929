import type { ReactNode } from "react";
import { SvgPath } from "./icons.tsx";
import { isListIcon, listIconPaths } from "./listIconPaths.ts";

/** An icon in the navigation. Loaded beside the first page, which does not wait for it. */
export function ListIcon({ name }: { name: string }): ReactNode {
  return isListIcon(name) ? <SvgPath path={listIconPaths[name]} /> : null;
}
