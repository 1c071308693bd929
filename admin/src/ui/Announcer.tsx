import type { ReactNode } from "react";
import { announcement } from "./announce.ts";

/** The invisible text of {@link announce}; above dialogs, which hide the rest of the page from screen readers. */
export function Announcer(): ReactNode {
  const { text, count } = announcement.use();
  return (
    <div
      className="visually-hidden"
      role="status"
      aria-live="polite"
      data-react-aria-top-layer="true"
    >
      <span key={count}>{text}</span>
    </div>
  );
}
