import type { ReactNode } from "react";

export function RecordPage(): ReactNode {
  return null;
}
