import type { ReactNode } from "react";
import { makeSharedState } from "../sharedState.ts";

const shown = makeSharedState<ReactNode>(null);

/** Shows a dialog that stays when the page below it changes; null closes it. */
export const showTopDialog = (dialog: ReactNode): void => shown.set(dialog);

export function TopDialog(): ReactNode {
  return shown.use();
}
