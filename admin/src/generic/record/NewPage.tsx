import type { ReactNode } from "react";

export function NewPage(): ReactNode {
  return null;
}
