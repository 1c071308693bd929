import type { ReactNode } from "react";

/** A description from the API; text in backticks is shown as code. */
export function Description({ text }: { text: string }): ReactNode {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>));
}
