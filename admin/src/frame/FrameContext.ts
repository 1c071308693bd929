import { createContext, use } from "react";

interface FrameActions {
  openMenu: () => void;
  openPalette: () => void;
  /** Whether `g` was pressed less than a second ago, so that the next letter completes its shortcut. */
  isGoing: () => boolean;
}

export const FrameContext = createContext<FrameActions | null>(null);

export function useFrame(): FrameActions {
  const frame = use(FrameContext);
  if (!frame) throw new Error("useFrame needs a Frame above it");
  return frame;
}
