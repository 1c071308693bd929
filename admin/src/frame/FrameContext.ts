import { createContext, use } from "react";

interface FrameActions {
  openMenu: () => void;
  openPalette: () => void;
  /** Whether the next letter belongs to `g`. */
  isGoing: () => boolean;
}

export const FrameContext = createContext<FrameActions | null>(null);

export function useFrame(): FrameActions {
  const frame = use(FrameContext);
  if (!frame) throw new Error("useFrame needs a Frame above it");
  return frame;
}
