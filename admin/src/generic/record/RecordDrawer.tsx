import type { ReactNode } from "react";

export function RecordDrawer(_props: {
  entity: string;
  id: string;
  onClose: () => void;
}): ReactNode {
  return null;
}
